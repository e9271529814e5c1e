// The multiplier figure: two sliders, a factor and a number of steps, and the power of the one to
// the other. It stands where a page has an empty <div class="one-hop-multiplier">.

// What is left of 1 after so many steps, the text beside it, and its height in the drawing.
const multiplier = {
  floor: -10, // powers of ten drawn below one, and as many above

  left(factor, steps) {
    return factor ** steps;
  },

  sentence(factor, steps) {
    const left = multiplier.left(factor, steps);
    const short = left >= 0.001 && left < 1000 ? left.toPrecision(3) : left.toExponential(2);
    return `${factor.toFixed(3)} applied ${steps} times: ${short} is left.`;
  },

  height(factor, steps) {
    const power = steps * Math.log10(factor) / multiplier.floor;
    return 50 + 50 * Math.max(-1, Math.min(1, power));
  },
};

if (typeof document$ !== "undefined") {
  document$.subscribe(() => {
    document.querySelectorAll(".one-hop-multiplier:empty").forEach((place) => {
      place.innerHTML = `
        <svg viewBox="0 0 200 100" width="100%" height="160" preserveAspectRatio="none" aria-hidden="true">
          <path d="M0 50H200" stroke="currentColor" stroke-opacity="0.4" vector-effect="non-scaling-stroke"/>
          <path class="one-hop-line" fill="none" stroke="#c2571a" stroke-width="2" vector-effect="non-scaling-stroke"/>
          <path class="one-hop-point" stroke="currentColor" stroke-opacity="0.6" vector-effect="non-scaling-stroke"/>
        </svg>
        <p><label>Factor <input type="range" min="0.9" max="1.1" step="0.001" value="0.95" style="width: 60%"></label><br>
        <label>Steps <input type="range" min="1" max="200" step="1" value="100" style="width: 60%"></label><br>
        <output aria-live="polite"></output><br>
        The line shows all powers up to 200 steps, between ten powers of ten below one and ten above.</p>`;
      const [factor, steps] = place.querySelectorAll("input");
      const draw = () => {
        const m = Number(factor.value), n = Number(steps.value);
        const points = Array.from({length: 201}, (_, k) => `${k} ${multiplier.height(m, k)}`);
        place.querySelector(".one-hop-line").setAttribute("d", `M${points.join("L")}`);
        place.querySelector(".one-hop-point").setAttribute("d", `M${n} 50V${multiplier.height(m, n)}`);
        place.querySelector("output").textContent = multiplier.sentence(m, n);
      };
      factor.addEventListener("input", draw);
      steps.addEventListener("input", draw);
      draw();
    });
  });
}
