// Keys typed inside a widget are its own: "d d" must not delete the notebook's cell, Escape must not leave for
// command mode. What the widget leaves alone and is held with Ctrl or Cmd, such as saving, still reaches the notebook.
export function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
  });
}
