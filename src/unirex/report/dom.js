"use strict";
// What the scripts of all pages draw with. Text enters a page only as text nodes.
const dom = (() => {
  const LONG = 1500; // characters; a longer text scrolls in its own box

  function make(tag, className, ...children) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function makeAuto(tag, className, ...children) {
    const made = make(tag, className, ...children);
    made.dir = "auto"; // the text may run from right to left
    return made;
  }

  /** The letter of a choice, counted from 0: A … Z, AA … */
  function letter(number) {
    const last = String.fromCharCode(65 + (number % 26));
    return number < 26 ? last : letter(Math.floor(number / 26) - 1) + last;
  }

  const percent = (value, decimals = 0) => `${value.toFixed(decimals)} %`;
  const count = (number) => number.toLocaleString("en");

  /**
   * A text with its words marked, and around them its gold, which may begin or end inside a word.
   * A word is { start, end, level, selected }; gold are pairs of [start, end]. `decorate` gets every piece of a
   * word, the word, and whether it is its first piece.
   */
  function paragraph(text, words, gold, decorate = () => {}) {
    const made = makeAuto("p", "text");
    let done = 0, next = 0;
    function fill(parent, to) {
      if (to <= done) return;
      while (next < words.length && words[next].start < to) {
        const { start, end, level, selected } = words[next];
        if (start > done) parent.append(text.slice(done, start));
        const from = Math.max(start, done);
        done = Math.min(end, to);
        const piece = make(selected ? "mark" : "span", level ? `s${level}` : "", text.slice(from, done));
        decorate(piece, words[next], from === start);
        parent.append(piece);
        if (end > to) return; // the rest of the word is outside this mark
        next++;
      }
      if (to > done) parent.append(text.slice(done, to));
      done = to;
    }
    for (const [start, end] of gold) {
      fill(made, start);
      const marked = make("span", "gold-mark");
      fill(marked, end);
      made.append(marked);
    }
    fill(made, text.length);
    if (text.length < LONG) return made;
    const box = make("div", "long", made);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Text");
    return box;
  }

  return { make, makeAuto, letter, percent, count, paragraph };
})();
