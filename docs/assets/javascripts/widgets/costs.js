// What a layer costs at a length T and a width d, by the formulas of onehop.counting and onehop.memory.
oneHop.costs = {
  formulas: {
    FLOPs: {
      RNN: (T, d) => 4 * T * d * d,
      GRU: (T, d) => 12 * T * d * d,
      LSTM: (T, d) => 16 * T * d * d,
      attention: (T, d) => 8 * T * d * d + 4 * T * T * d,
    },
    bytes: {
      RNN: (T, d) => 8 * T * d + 8 * d * d + 4 * d,
      fused: (T, d) => 16 * T * d + 4 * T,
      attention: (T, d) => 4 * T * T + 12 * T * d,
    },
    "in a row": {
      RNN: (T) => T,
      attention: () => 4,
    },
  },
  units: {FLOPs: "FLOPs", bytes: "bytes kept", "in a row": "products in a row"},
  tones: {RNN: "blue", GRU: "green", LSTM: "grey", fused: "purple", attention: "orange"},

  // The largest T below a billion at which attention costs no more than another layer, 0 for none.
  crossover(cost, other, d) {
    const {[other]: recurrent, attention} = oneHop.costs.formulas[cost];
    let [low, high] = [0, 999999999];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (attention(middle, d) <= recurrent(middle, d)) low = middle;
      else high = middle - 1;
    }
    return low;
  },

  sentence(cost, T, d) {
    const {formulas, units, crossover} = oneHop.costs;
    const written = cost === "in a row" ? oneHop.whole : oneHop.number;
    const each = Object.entries(formulas[cost]).map(([name, formula]) => `${name} ${written(formula(T, d))}`);
    const start = `${oneHop.whole(T)} steps of width ${oneHop.whole(d)}, ${units[cost]}: ${each.join(", ")}.`;
    if (cost === "in a row") return `${start} From the fifth step on attention has the shorter chain.`;
    const others = Object.keys(formulas[cost]).filter((name) => name !== "attention");
    const meets = others.map((name) => [name, crossover(cost, name, d)]);
    const never = meets.filter(([, last]) => !last).map(([name]) => `more than ${name} at every length`);
    const up = meets.filter(([, last]) => last).map(([name, last]) => `${name} up to ${oneHop.whole(last)} steps`);
    const said = up.length ? [...never, `no more than ${up.join(", ")}`] : never;
    return `${start} Attention takes ${said.join("; ")}.`;
  },

  mount(figure) {
    const {formulas, units, tones, crossover, sentence} = oneHop.costs;
    const controls = oneHop.choices("Cost", "radio", Object.keys(formulas).map((cost) => (
      {name: "cost", value: cost, label: units[cost], on: cost === "FLOPs"}
    ))) + oneHop.slider("length", "Length T", [5, 16, 1, 9]) + oneHop.slider("width", "Width d", [6, 13, 1, 9]);
    const x = {from: 2 ** 5, to: 2 ** 16, log: true, title: "length T",
      ticks: [5, 7, 9, 11, 13, 15].map((n) => [2 ** n, oneHop.whole(2 ** n)])};
    oneHop.live(figure, controls, ({cost, length, width: wide}, width, height) => {
      const [T, d, layers] = [2 ** length, 2 ** wide, formulas[cost]];
      const values = Object.values(layers).flatMap((formula) => [formula(x.from, d), formula(x.to, d)]);
      const [from, to] = [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
      const lines = Object.entries(layers).map(([name, formula]) => {
        const xy = Array.from({length: 45}, (_, i) => 2 ** (5 + i / 4)).map((steps) => [steps, formula(steps, d)]);
        return {name, tone: tones[name], xy};
      });
      const meetings = Object.keys(layers).filter((name) => name !== "attention")
        .map((name) => [name, crossover(cost, name, d)])
        .filter(([, last]) => last >= x.from && last <= x.to)
        .map(([name, last]) => [last, layers[name](last, d), tones[name], true]);
      const here = Object.entries(layers).map(([name, formula]) => [T, formula(T, d), tones[name]]);
      const y = {from, to, log: true, title: units[cost], ticks: oneHop.decades(from, to)};
      return {
        picture: oneHop.plot({width, height, x, y, lines, cursor: T, points: [...here, ...meetings], names: 70}),
        sentence: sentence(cost, T, d),
        told: {length: oneHop.whole(T), width: oneHop.whole(d)},
      };
    });
  },
};
