// The methods of the server: pickers, what each promises, and a form for its options.

import { $, element, setText } from "./dom.js";

export class Catalogue {
  constructor(methods) {
    this.methods = new Map(methods.map((method) => [method.name, method]));
  }

  names() {
    return [...this.methods.values()].filter(isAvailable).map(({ name }) => name);
  }

  has(name) {
    return this.names().includes(name);
  }

  takesStart(name) {
    return this.methods.get(name)?.takes_start ?? false;
  }

  /** Fill a select with all methods; what is not installed is shown, but cannot be picked. */
  fillPicker(select, chosen) {
    select.replaceChildren(
      ...[...this.methods.values()].map((method) => {
        const note = isAvailable(method) ? "" : ` (needs ${[method.needs].flat().join(", ")})`;
        return element(
          "option",
          { value: method.name, disabled: !isAvailable(method), selected: method.name === chosen },
          method.name + note,
        );
      }),
    );
  }

  describe(name) {
    const { summary = "", guarantee = "" } = this.methods.get(name) ?? {};
    setText($("#method-about"), `${sentence(summary)} ${sentence(guarantee)}`);
  }

  /** Build the form of a method's options; `onChange` gets those that differ from the default. */
  buildForm(name, values, onChange) {
    const form = $("#options-form");
    const offered = (this.methods.get(name)?.options ?? []).filter(isOffered);
    $("#options").hidden = !offered.length;
    const current = { ...values };
    form.replaceChildren(
      ...offered.map((option) => {
        const input = control(option, current[option.name] ?? option.default);
        input.addEventListener("change", () => {
          const value = valueOf(option, input);
          if (value === option.default || value === null) delete current[option.name];
          else current[option.name] = value;
          onChange({ ...current });
        });
        const name = element("span", {}, option.name.replaceAll("_", " "));
        return element("label", { title: option.help }, name, input);
      }),
    );
  }
}

const isAvailable = (method) => method.available !== false;

/** Free text (the folder of a model) is for the command line, and a choice of one is none. */
const isOffered = (option) =>
  option.choices ? option.choices.length > 1 : kindOf(option) !== "text";

/** "tick", "number" or "text", by type where the server tells it and by default where not. */
function kindOf({ type, default: initial }) {
  if (type === "bool" || typeof initial === "boolean") return "tick";
  if (/^(int|float)/.test(type ?? "") || typeof initial === "number") return "number";
  return "text";
}

function control(option, value) {
  if (option.choices) {
    const item = (name) => element("option", { value: name, selected: name === value }, name);
    return element("select", {}, ...option.choices.map(item));
  }
  if (kindOf(option) === "tick") return element("input", { type: "checkbox", checked: value });
  return element("input", {
    type: "number",
    value: value ?? "",
    min: option.minimum,
    max: option.maximum,
    step: (option.type ?? "").startsWith("float") ? "any" : 1,
    placeholder: "none",
  });
}

function valueOf(option, input) {
  if (option.choices) return input.value;
  if (kindOf(option) === "tick") return input.checked;
  return input.value === "" ? null : Number(input.value);
}

function sentence(text) {
  const trimmed = text.trim();
  return trimmed ? `${trimmed[0].toUpperCase()}${trimmed.slice(1)}.` : "";
}
