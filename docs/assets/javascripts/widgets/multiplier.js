// A factor and a number of steps: the power of the one to the other, among the powers of the page.
oneHop.multiplier = {
  left(factor, steps) {
    return factor ** steps;
  },

  sentence(factor, steps) {
    return `${factor.toFixed(3)} applied ${steps} times: ${oneHop.number(factor ** steps)} is left.`;
  },

  mount(figure, {n: steps, ...powers}) {
    const x = {from: 0, to: 200, title: "steps", ticks: [0, 50, 100, 150, 200].map((n) => [n, n])};
    const y = {from: 1e-10, to: 1e10, log: true, title: "what is left of 1", ticks: oneHop.decades(1e-9, 1e9, 8)};
    const known = Object.entries(powers).map(([name, left]) => (
      {name, tone: "grey", soft: true, xy: steps.map((n, i) => [n, left[i]])}
    ));
    const controls = oneHop.slider("factor", "Factor", [0.9, 1.1, 0.001, 0.95])
      + oneHop.slider("steps", "Steps", [1, 200, 1, 100]);
    oneHop.live(figure, controls, ({factor, steps}, width, height) => {
      const left = oneHop.multiplier.left(factor, steps);
      const line = {name: factor.toFixed(3), tone: "orange", xy: [[0, 1], [200, factor ** 200]]};
      const picture = {width, height, x, y, lines: [...known, line], cursor: steps, names: 44,
        points: [[steps, left, "orange"]]};
      return {
        picture: oneHop.plot(picture),
        sentence: oneHop.multiplier.sentence(factor, steps),
        told: {factor: factor.toFixed(3), steps},
      };
    });
  },
};
