// When a printed output agrees with the recorded one: driftproof.numbers and driftproof.compare in
// the reader's browser. A test holds the two to one verdict on the same pairs of outputs.
const comparer = (() => {
  const word = "[\\p{L}\\p{N}_]"; // what Python's \w matches
  const bounded = (text, more) => `${text}(?!${more})`; // as many as there are, never fewer
  const digits = bounded("[0-9]+", "[0-9]");
  const blank = "[ \\t\\u00a0\\u2009\\u202f]";
  const blanks = bounded(`${blank}*`, blank);
  const superscript = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  const separators = [",", "[\\u00a0\\u2009\\u202f]", "\\{,\\}", "\\\\,"];
  const groups = separators.map((each) => `(?:${each}[0-9]{3})+(?!(?:${each})?[0-9])`).join("|");
  const grouped =
    separators.map((each) => `(?<![0-9]${each})`).join("") + `[1-9][0-9]{0,2}(?:${groups})`;
  const onward = bounded("[ \\t]*", "[ \\t]") + `(?:\\n${bounded("[ \\t]+", "[ \\t]")}|(?!\\n[ \\t]))`;
  const barePoint =
    `\\.(?=%|j(?!${word})|[eE][-+−]?[0-9]` +
    `|${onward}(?:[\\])\\},;\\|]|[-+−]?(?:\\.?[0-9]|(?:nan|inf)(?!${word}))))`;
  const unsigned =
    `(?:(?:${grouped}|${digits})(?:\\.${digits}|${barePoint})?` +
    `|(?<!${word}|[.)\\]])\\.${digits})`;
  const sign = `(?:(?<!${word}|[-‐‑)\\]\\}%])[-+−])?`;
  const exponent = "[-+−]?[0-9]{1,5}";
  const power = `\\^\\{${exponent}\\}|\\^${exponent}|[⁺⁻]?[${superscript}]{1,5}`;
  const times = `${blanks}(?:×|·|\\\\times|\\\\cdot)(?:${blank}|\\\\,)*(?!${blank}|\\\\,)`;
  const percent = `\\\\?%(?!${word})`;
  const number =
    `(?<sign>${sign})(?:(?<special>nan|NaN|inf)` +
    `|(?:(?<factor>${unsigned})${times})?10(?<power>${power})` +
    `|(?<mantissa>${unsigned})(?:[eE](?<exponent>${exponent}))?)` +
    `(?:${percent}|(?!${percent}))` +
    `(?!(?![${superscript}])${word})(?!\\.${word})(?!\\.?[-‐‑]\\.?${word})`;

  const joined = `(?:(?:%?[-‐‑]\\.?|\\.[-‐‑]?)${word}+)*`;
  const clock =
    "(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T)?[0-9]{1,2}(?::[0-9]{2}(?![0-9])){1,2}" +
    `(?:\\.[0-9]+)?${word}*`;
  const complex = `${sign}${unsigned}(?:[eE]${exponent})?[-+]${unsigned}(?:[eE]${exponent})?j(?!${word})`;
  const anyCase = (text) => text.replace(/[a-z]/g, (a) => `[${a}${a.toUpperCase()}]`);
  const named =
    `(?:§${blanks}` +
    `|(?:${anyCase("versions?|arxiv|doi")})(?:${blanks}[:=]${blanks}|${bounded(`${blank}+`, blank)})` +
    `|(?:${anyCase(
      "python|(?:py)?torch|numpy|cuda|cudnn|mkdocs|sections?|chapters?|figures?|figs?\\.?|tables?" +
        "|equations?|eqs?\\.?|pages?|appendix|pep|rfc",
    )})(?:${blanks}[=<>~!]=${blanks}|${bounded(`${blank}+`, blank)}))` +
    `\\(?[0-9]${word}*${joined}(?:,[0-9]{3}(?!${word}))*`;
  const command = "\\\\[A-Za-z]+";
  const subscript = "(?<=_)\\{(?:[^\\{\\}\\n]|\\{[^\\{\\}\\n]*\\})*\\}";
  const token = new RegExp(
    `${clock}|${named}|${complex}|(?<number>${number})|${command}|${subscript}|#?${word}+${joined}`,
    "gu",
  );

  const plain = (text) =>
    text.replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−^{}]/g, (a) => "0123456789+--"["⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−".indexOf(a)] ?? "");

  // A number's value is exact: `whole` × 10^`exponent`, or NaN or ±Infinity.
  function read(match) {
    const { sign, special, mantissa, factor, exponent, power } = match.groups;
    const negative = sign === "-" || sign === "−";
    const found = { start: match.index, end: match.index + match[0].length, text: match[0] };
    found.isPercentage = match[0].endsWith("%");
    if (special) {
      const size = special === "inf" ? Infinity : NaN;
      return { ...found, special: negative ? -size : size, isInteger: false, digits: 0 };
    }
    const written = (mantissa ?? factor ?? "1").replace(/[^0-9.]/g, "");
    const raised = Number(plain(exponent ?? power ?? "0"));
    const [units, decimals = ""] = written.split(".");
    const whole = BigInt(units + decimals) * (negative ? -1n : 1n);
    const isInteger = exponent === undefined && power === undefined && !written.includes(".");
    const value = { whole, exponent: raised - decimals.length };
    let count = (units + decimals).replace(/^0+/, "").length;
    if (isInteger) count = written.length;
    else if (whole === 0n) count = decimals.length - raised;
    return { ...found, value, isInteger, digits: count };
  }

  const findNumbers = (text) =>
    [...text.matchAll(token)].filter((match) => match.groups.number !== undefined).map(read);

  const sizeOf = (a) => ({ ...a, whole: a.whole < 0n ? -a.whole : a.whole });
  const product = (a, b) => ({ whole: a.whole * b.whole, exponent: a.exponent + b.exponent });

  // The sign of a - b, and the difference itself, of two exact values.
  function difference(a, b) {
    const exponent = Math.min(a.exponent, b.exponent);
    const [first, second] = [a, b].map((x) => x.whole * 10n ** BigInt(x.exponent - exponent));
    return { whole: first - second, exponent };
  }

  const isAtMost = (a, b) => difference(a, b).whole <= 0n;
  const isSame = (a, b) => difference(a, b).whole === 0n;

  function numbersAgree(a, b, tolerance) {
    if (a.isPercentage !== b.isPercentage) return false;
    if (a.special !== undefined || b.special !== undefined) return Object.is(a.special, b.special);
    const same = isSame(a.value, b.value);
    const isExact = !tolerance.rtol && !tolerance.atol;
    if (a.isInteger && b.isInteger) return same && a.digits === b.digits;
    if (a.isInteger || b.isInteger) return same && !isExact;
    if (same) return !isExact || a.digits === b.digits;
    const [rtol, atol] = [tolerance.rtol, tolerance.atol].map((x) => read(exactly(x)).value);
    const apart = sizeOf(difference(a.value, b.value));
    const sizes = [sizeOf(a.value), sizeOf(b.value)];
    const larger = isAtMost(...sizes) ? sizes[1] : sizes[0];
    return isAtMost(apart, product(rtol, larger)) || isAtMost(apart, atol);
  }

  const exactly = (x) => String(x ?? 0).matchAll(token).next().value;

  // A line without trailing blanks, its numbers, and the texts before, between and after them.
  function split(text, start, end, numbers) {
    const cuts = [start, ...numbers.flatMap((number) => [number.start, number.end]), end];
    const between = [];
    for (let i = 0; i < cuts.length; i += 2) {
      let part = text.slice(cuts[i], cuts[i + 1]).replace(/\s+/gu, " ");
      part = part.replace(/ ?([[\](){}]) ?/g, "$1").trimEnd();
      between.push(between.length ? part.trimStart() : part);
    }
    return { text: text.slice(start, end).trimEnd(), between, numbers };
  }

  function linesOf(text) {
    const numbers = findNumbers(text);
    const lines = [];
    let start = 0;
    for (const written of text.split("\n")) {
      const end = start + written.length;
      lines.push(split(text, start, end, numbers.filter((n) => n.start >= start && n.start < end)));
      start = end + 1;
    }
    while (lines.length && !lines[lines.length - 1].text) lines.pop();
    return lines;
  }

  const joinedLine = (lines) => {
    const text = lines.map((line) => line.text).join(" ");
    return split(text, 0, text.length, findNumbers(text));
  };

  const isEqual = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // The places where a new output does not agree with the recorded one: none if it agrees.
  function compare(recorded, got, tolerance = {}) {
    const [old, now] = [linesOf(recorded), linesOf(got)];
    const none = { text: "", between: [""], numbers: [] };
    const found = [];
    for (let line = 0; line < Math.max(old.length, now.length); line++) {
      const [a, b] = [old[line] ?? none, now[line] ?? none];
      if (!isEqual(a.between, b.between)) found.push({ line, recorded: a.text, got: b.text });
      else
        a.numbers.forEach((number, i) => {
          const other = b.numbers[i];
          if (!numbersAgree(number, other, tolerance))
            found.push({ line, recorded: number.text, got: other.text });
        });
    }
    const texts = (lines) => lines.map((line) => line.between);
    if (isEqual(texts(old), texts(now))) return found;
    const isRewrapped = isEqual(joinedLine(old).between, joinedLine(now).between);
    if (!isRewrapped && old.length === now.length) return found;
    const { line } = found[0];
    const place = Math.min(line, Math.max(old.length - 1, 0));
    return [{ line: place, recorded: old[line]?.text ?? "", got: now[line]?.text ?? "" }];
  }

  // A reader rounds: an answer may be half a per cent off, and integers have to be exact.
  const ROUNDED = { rtol: 0.005 };

  // The numbers of a reader's answer that agree with none of the recorded one.
  function strangers(recorded, answer) {
    const known = findNumbers(recorded);
    const isKnown = (number) => known.some((each) => numbersAgree(each, number, ROUNDED));
    return findNumbers(answer).filter((number) => !isKnown(number));
  }

  return { compare, findNumbers, strangers };
})();
