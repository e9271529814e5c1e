// What the figures that answer share: numbers as the text writes them, axes, lines, sliders, and the
// place of a figure on its page. Each figure is a script of its own beside this one.
const oneHop = {
  // Three digits, thousands apart, powers of ten beyond a million and below a thousandth.
  number(x) {
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 0.001 && size < 999500) {
      const three = x.toPrecision(3);
      return size < 999.5 ? three : oneHop.whole(Number(three));
    }
    const [digits, power] = x.toExponential(2).split("e");
    return `${digits}×10${oneHop.raised(Number(power))}`;
  },

  whole(x) {
    return String(x).replace(/\B(?=(\d{3})+$)/g, ",");
  },

  raised(power) {
    return String(power).replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(sign)]);
  },

  // Powers of ten on an axis, a few of them.
  decades(from, to, most = 6) {
    const [low, high] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    const step = [1, 2, 3, 4, 5].find((n) => (high - low) / n < most) ?? 10;
    const ticks = [];
    for (let n = low; n <= high; n++) {
      if (n % step === 0) ticks.push([10 ** n, n === 0 ? "1" : n === 1 ? "10" : `10${oneHop.raised(n)}`]);
    }
    return ticks;
  },

  // Where a value lies on an axis, as a share of its length.
  share({from, to, log}, value) {
    return log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  },

  // Heights of labels that want to stand at `wanted`, pushed apart to `gap`, in the same order.
  apart(wanted, gap, lowest) {
    const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
    const placed = [];
    order.forEach((i, n) => {
      placed[i] = n ? Math.max(wanted[i], placed[order[n - 1]] + gap) : wanted[i];
    });
    for (let n = order.length - 1, limit = lowest; n >= 0; n--, limit = placed[order[n + 1]] - gap) {
      placed[order[n]] = Math.min(placed[order[n]], limit);
    }
    return placed;
  },

  // A picture of so many pixels: axes, lines with names at a point or behind their ends, a cursor.
  plot({width, height, x, y, lines, cursor, points = [], names = 84}) {
    const [left, top, right, bottom] = [46, 26, width - names, height - 40];
    const across = (value) => (left + oneHop.share(x, value) * (right - left)).toFixed(1);
    const down = (value) => (bottom - oneHop.share(y, value) * (bottom - top)).toFixed(1);
    const parts = [];
    y.ticks.forEach(([value, text]) => {
      parts.push(`<path class="grid" d="M${left} ${down(value)}H${right}"/>`);
      parts.push(`<text x="${left - 7}" y="${down(value)}" dy="0.35em" text-anchor="end">${text}</text>`);
    });
    const roomy = (right - left) / x.ticks.length > 44;
    x.ticks.filter((_, i) => roomy || i % 2 === 0).forEach(([value, text]) => {
      parts.push(`<path class="grid" d="M${across(value)} ${top}V${bottom}"/>`);
      parts.push(`<text x="${across(value)}" y="${bottom + 16}" text-anchor="middle">${text}</text>`);
    });
    parts.push(`<text class="axis" x="0" y="12">${y.title}</text>`);
    parts.push(`<text class="axis" x="${right}" y="${height - 4}" text-anchor="end">${x.title}</text>`);
    if (cursor !== undefined) parts.push(`<path class="cursor" d="M${across(cursor)} ${top}V${bottom}"/>`);
    lines.forEach(({tone, xy, soft, dashed, band}) => {
      const kind = `${tone}${soft ? " soft" : ""}${dashed ? " dashed" : ""}`;
      band?.forEach(([at, low, high]) => {
        parts.push(`<path class="band ${tone}" d="M${across(at)} ${down(low)}V${down(high)}"/>`);
      });
      parts.push(`<path class="line ${kind}" d="M${xy.map(([a, b]) => `${across(a)} ${down(b)}`).join("L")}"/>`);
    });
    lines.filter((line) => line.at).forEach(({name, tone, at: [a, b]}) => {
      parts.push(`<text class="name ${tone}" x="${across(a)}" y="${down(b)}" dx="8">${name}</text>`);
    });
    const named = lines.filter((line) => line.name && !line.at);
    const ends = named.map(({xy}) => Number(down(xy[xy.length - 1][1])));
    oneHop.apart(ends, 14, bottom).forEach((height, i) => {
      const {name, tone, soft} = named[i];
      parts.push(`<text class="name ${tone}${soft ? " soft" : ""}" x="${right + 7}" y="${height}" dy="0.35em">${name}</text>`);
    });
    points.forEach(([a, b, tone, hollow]) => {
      parts.push(`<circle class="${hollow ? "hollow" : "point"} ${tone}" cx="${across(a)}" cy="${down(b)}" r="4"/>`);
    });
    return `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${parts.join("")}</svg>`;
  },

  slider(name, label, [min, max, step, value]) {
    return `<label class="slider"><span>${label}</span>
      <input type="range" name="${name}" min="${min}" max="${max}" step="${step}" value="${value}">
      <b data-told="${name}" aria-hidden="true"></b></label>`;
  },

  // Check boxes are given with a tone each, radio buttons with the name they share.
  choices(legend, kind, choices) {
    const inputs = choices.map(({name, value, label, tone = "", on}) =>
      `<label class="${tone}"><input type="${kind}" name="${name}" value="${value ?? ""}" ${on ? "checked" : ""}>
      <span>${label}</span></label>`);
    return `<fieldset><legend>${legend}</legend>${inputs.join("")}</fieldset>`;
  },

  asked(form) {
    const asked = {};
    form.querySelectorAll("input").forEach((input) => {
      if (input.type === "checkbox") asked[input.name] = input.checked;
      else if (input.type === "range") asked[input.name] = Number(input.value);
      else if (input.checked) asked[input.name] = input.value;
    });
    return asked;
  },

  // Put a figure that answers in the place of the still one. `draw(asked, width, height)` returns the
  // picture, the sentence under it, and what each slider stands at.
  live(figure, controls, draw) {
    const still = figure.querySelector(":scope > svg");
    const [, , wide, high] = still.getAttribute("viewBox").split(" ").map(Number);
    const widget = document.createElement("div");
    widget.className = "widget";
    widget.innerHTML = `<div class="widget-picture"></div>
      <div class="widget-panel"><div class="widget-controls">${controls}</div><output aria-live="polite"></output></div>`;
    widget.style.setProperty("--ratio", wide / high);
    widget.style.maxWidth = still.getAttribute("width");
    still.after(widget);
    figure.removeAttribute("tabindex");
    figure.dataset.live = "";
    const [picture, form] = ["picture", "controls"].map((part) => widget.querySelector(`.widget-${part}`));
    const show = () => {
      if (!picture.clientWidth) return;
      const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 20;
      const size = [picture.clientWidth, picture.clientHeight].map((pixels) => pixels / scale);
      const shown = draw(oneHop.asked(form), ...size);
      picture.innerHTML = shown.picture;
      widget.querySelector("output").textContent = shown.sentence;
      Object.entries(shown.told).forEach(([name, text]) => {
        widget.querySelector(`[data-told="${name}"]`).textContent = text;
        widget.querySelector(`[name="${name}"]`).setAttribute("aria-valuetext", text);
      });
    };
    form.addEventListener("input", show);
    new ResizeObserver(show).observe(picture);
    show();
    return widget;
  },
};
