// The weights of a translation: one row for each English word, one column for each French one.
oneHop.alignment = {
  // The rows of each sentence: its French words, and for each English word the weights on them.
  sentences({French, writes, ...weights}) {
    const found = new Map();
    French.forEach((sentence, row) => {
      if (!found.has(sentence)) found.set(sentence, {french: sentence.split(" "), english: [], weights: []});
      const {french, english, weights: rows} = found.get(sentence);
      english.push(writes[row]);
      rows.push(french.map((_, place) => weights[`${place + 1}`][row]));
    });
    return found;
  },

  most({french, english, weights}) {
    const reads = english.map((word, row) => {
      const most = Math.max(...weights[row]);
      return `${word} reads ${french[weights[row].indexOf(most)]} (${most.toFixed(2)})`;
    });
    return `Most of the weight: ${reads.join(", ")}.`;
  },

  cell({french, english, weights}, row, column) {
    return `${english[row]} reads ${french[column]} with ${weights[row][column].toFixed(2)} of its weight.`;
  },

  table({french, english, weights}) {
    const head = french.map((word) => `<th scope="col"><span>${word}</span></th>`).join("");
    const rows = english.map((word, row) => `<tr><th scope="row">${word}</th>${weights[row].map((weight, column) =>
      `<td style="--weight: ${weight.toFixed(3)}" data-at="${row} ${column}" tabindex="${row + column ? -1 : 0}">${weight.toFixed(2)}</td>`
    ).join("")}</tr>`).join("");
    return `<table role="grid" class="weights" aria-label="Weights, English by French words"><thead><tr><td></td>${head}</tr></thead><tbody>${rows}</tbody></table>`;
  },

  mount(figure, columns) {
    const {sentences, most, cell, table} = oneHop.alignment;
    const all = [...sentences(columns).values()];
    const controls = oneHop.choices("Sentence", "radio", all.map(({french}, i) => (
      {name: "sentence", value: i, label: french.join(" "), on: i === 0}
    )));
    let shown = all[0];
    const widget = oneHop.live(figure, controls, ({sentence}) => {
      shown = all[sentence];
      return {picture: table(shown), sentence: most(shown), told: {}};
    });
    const [picture, output] = [".widget-picture", "output"].map((part) => widget.querySelector(part));
    const say = ({target}) => {
      const at = target.dataset?.at?.split(" ");
      output.textContent = at ? cell(shown, ...at) : most(shown);
    };
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    picture.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move || !event.target.dataset.at) return;
      const [row, column] = event.target.dataset.at.split(" ").map((place, i) => Number(place) + move[i]);
      const next = picture.querySelector(`[data-at="${row} ${column}"]`);
      event.preventDefault();
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    picture.addEventListener("focusin", say);
    picture.addEventListener("pointerover", say);
    picture.addEventListener("pointerleave", say);
  },
};
