// Points from text and files, trees into files.

import * as api from "./api.js";
import { $, $$, element, toast } from "./dom.js";
import * as format from "./format.js";

/**
 * Wire paste, drop, the dialog and the export buttons. `take(points)` replaces the document,
 * `shown()` gives the {solution, maxEdge} on the screen.
 */
export function attachFiles(take, shown) {
  const dialog = $("#read-dialog");
  const fault = $("#read-fault");
  const read = async (body, name) => {
    fault.textContent = "";
    try {
      const { points, note } = await api.read(body, name);
      take(points);
      toast(note || `${format.plural(points.length, "point")} from ${name}`);
      dialog.close();
    } catch (error) {
      // An open dialog covers everything else, for eyes and for screen readers.
      if (dialog.open) fault.textContent = error.message;
      else toast(error.message, "error");
    }
  };
  const readFile = (file) => read(file, file.name);
  attachPaste(read);
  attachDrop(readFile);
  $("#read").addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("close", () => (fault.textContent = ""));
  $("#read-go").addEventListener("click", () => {
    const text = $("#read-text").value;
    read(text, nameFor(text));
  });
  $("#read-file").addEventListener("change", ({ target }) => {
    if (target.files.length) readFile(target.files[0]);
    target.value = ""; // so that the same file can be opened again
  });
  for (const button of $$("#export button")) {
    button.addEventListener("click", () => save(shown(), button.dataset.format));
  }
}

function attachPaste(read) {
  document.addEventListener("paste", (event) => {
    if (event.target.matches?.("input, textarea")) return;
    const text = event.clipboardData.getData("text/plain").trim();
    if (text) read(text, nameFor(text));
  });
}

function attachDrop(readFile) {
  const stage = $("#stage");
  const mark = (on) => stage.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    const [file] = event.dataTransfer.files;
    if (file) readFile(file);
  });
}

const GEOJSON = /"(Feature|FeatureCollection|Point|MultiPoint|GeometryCollection)"/;

/** A name whose suffix tells the format of pasted text. */
function nameFor(text) {
  const start = text.trimStart();
  if (start.startsWith("{") || start.startsWith("[")) {
    return GEOJSON.test(start) ? "pasted.geojson" : "pasted.json";
  }
  if (/^(NAME|TYPE|COMMENT|DIMENSION)\s*:/im.test(start)) return "pasted.tsp";
  if (/^33D32945/i.test(start)) return "pasted.stp";
  return /[,;\t]/.test(start) ? "pasted.csv" : "pasted.txt";
}

async function save({ solution, maxEdge }, kind) {
  if (!solution) {
    toast("There is no tree to export yet.");
    return;
  }
  try {
    const { blob, name } = await api.exported(solution, kind, maxEdge);
    const address = URL.createObjectURL(blob);
    element("a", { href: address, download: name }).click();
    // The download has begun by then; keeping the address would keep the file in memory.
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (error) {
    toast(error.message, "error");
  }
}
