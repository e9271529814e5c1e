// The share translated exactly against the length of the sentence, for a vector of a chosen width.
oneHop.cliff = {
  // "53 (11 to 85)": the median of the seeds, the least, the greatest.
  spread(text) {
    return text.match(/\d+/g).map(Number);
  },

  sentence(width, words, fixed, attention, formula) {
    const said = (text) => text.replace(" (", "% (").replace(")", " over the seeds)");
    return `${words} words: ${width} floats translate ${said(fixed)} exactly, attention ${said(attention)}; `
      + `a superposition of ${width} floats would name all words right in ${Math.round(formula)}%.`;
  },

  // The length at which a falling line passes a height, for its name; where it begins, if below.
  passes(line, height) {
    const i = line.findIndex(([, percent]) => percent < height);
    if (i < 1) return line[0];
    const [[a, above], [b, below]] = [line[i - 1], line[i]];
    return [a + (b - a) * (above - height) / (above - below), height];
  },

  mount(figure, {words, attention, ...columns}) {
    const {spread, passes, sentence} = oneHop.cliff;
    const widths = Object.keys(columns).filter((name) => `formula ${name}` in columns);
    const x = {from: 3, to: 23, title: "words in the sentence; trained up to 16",
      ticks: [4, 8, 12, 16, 20].map((n) => [n, n])};
    const y = {from: 0, to: 100, title: "percent translated exactly",
      ticks: [0, 25, 50, 75, 100].map((n) => [n, n])};
    const curve = (cells) => words.map((at, i) => [at, spread(cells[i])[0]]);
    const band = (cells) => words.map((at, i) => [at, ...spread(cells[i]).slice(1)]);
    const controls = oneHop.slider("width", "Floats", [0, widths.length - 1, 1, widths.indexOf("128")])
      + oneHop.slider("at", "Words", [0, words.length - 1, 1, 2]);
    oneHop.live(figure, controls, ({width: chosen, at}, width, height) => {
      const floats = widths[chosen];
      const [fixed, formula] = [columns[floats], columns[`formula ${floats}`]];
      const others = widths.filter((name) => name !== floats)
        .map((name) => ({tone: "grey", soft: true, xy: curve(columns[name])}));
      const lines = [
        {tone: "grey", soft: true, xy: [[16.5, 0], [16.5, 100]]},
        ...others,
        {tone: "grey", dashed: true, xy: words.map((n, i) => [n, formula[i]])},
        ...[["attention", "blue", attention, 62], [`${floats} floats`, "orange", fixed, 80]].map(
          ([name, tone, cells, height]) => (
            {name, tone, xy: curve(cells), band: band(cells), at: passes(curve(cells), height)}
          )),
      ];
      const points = [[fixed, "orange"], [attention, "blue"]]
        .map(([cells, tone]) => [words[at], spread(cells[at])[0], tone]);
      return {
        picture: oneHop.plot({width, height, x, y, lines, points, cursor: words[at], names: 12}),
        sentence: sentence(floats, words[at], fixed[at], attention[at], formula[at]),
        told: {width: floats, at: words[at]},
      };
    });
  },
};
