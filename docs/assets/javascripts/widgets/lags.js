// Gradient against lag: layers switched on and off, and read at one lag.
oneHop.lags = {
  tones: {RNN: "blue", LSTM: "orange", GRU: "green", attention: "purple"},

  sentence(lag, left) {
    const said = Object.entries(left).map(([layer, value]) => `${layer} ${oneHop.number(value)}`);
    return said.length ? `${lag} steps back: ${said.join(", ")}.` : "Switch on a layer.";
  },

  // The powers of ten that hold all values, at least one of them.
  range(values) {
    const powers = values.map(Math.log10);
    const low = Math.floor(Math.min(...powers));
    return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.max(...powers)))];
  },

  mount(figure, {lag: lags, ...layers}) {
    const names = Object.keys(layers);
    const x = {from: 0, to: lags[lags.length - 1], title: "lag: steps before the last",
      ticks: [0, 10, 20, 30, 40, 50].map((n) => [n, n])};
    const controls = oneHop.choices("Layers", "checkbox", names.map((name) => (
      {name, label: name, tone: oneHop.lags.tones[name], on: true}
    ))) + oneHop.slider("at", "Lag", [0, lags.length - 1, 1, lags.indexOf(49)]);
    oneHop.live(figure, controls, ({at, ...on}, width, height) => {
      const shown = names.filter((name) => on[name]);
      const left = Object.fromEntries(shown.map((name) => [name, layers[name][at]]));
      const [from, to] = oneHop.lags.range(shown.flatMap((name) => layers[name]).concat(shown.length ? [] : [1]));
      const lines = shown.map((name) => (
        {name, tone: oneHop.lags.tones[name], xy: lags.map((lag, i) => [lag, layers[name][i]])}
      ));
      const y = {from, to, log: true, title: "length of the gradient", ticks: oneHop.decades(from, to)};
      return {
        picture: oneHop.plot({width, height, x, y, lines, cursor: lags[at],
          points: shown.map((name) => [lags[at], layers[name][at], oneHop.lags.tones[name]])}),
        sentence: oneHop.lags.sentence(lags[at], left),
        told: {at: lags[at]},
      };
    });
  },
};
