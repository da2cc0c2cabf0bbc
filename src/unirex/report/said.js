"use strict";
// Writes what a mark of a drawing is below the drawing, as the pointer or the keyboard comes to it.
for (const figure of document.querySelectorAll("figure")) {
  const output = figure.querySelector("output");
  if (!output) continue;
  const show = (event) => {
    const mark = event.target.closest(".said");
    if (mark) output.textContent = mark.getAttribute("aria-label");
  };
  figure.addEventListener("pointerover", show);
  figure.addEventListener("focusin", show);
}
