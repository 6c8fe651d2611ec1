// Keys typed inside a widget are its own: "d d" must not delete the notebook's cell, Escape must not leave for
// command mode. What the widget leaves alone and is held with Ctrl or Cmd, such as saving, still reaches the notebook.
export function keepKeys(root) {
  shield();
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
  });
}

// Notebook 7 hears keys before any element of the page does, but runs no command for what is typed in an element that
// itself has this attribute. One listener serves all widgets of the page; ../static/view.js has the same.
function shield() {
  if (window.memwbShield) return;
  window.memwbShield = true;
  window.addEventListener("keydown", (event) => {
    if (!event.target.closest?.(".memwb-bench, .mwg, .mwc")) return;
    const own = !(event.ctrlKey || event.metaKey) || /^(Enter|[aA]|Arrow.*|Home|End)$/.test(event.key);
    event.target.toggleAttribute("data-lm-suppress-shortcuts", own);
  }, true);
}
