// Everything the page asks of the server. Addresses are relative: it works behind any prefix.

/** A refusal of the server, with its own sentence as the message. */
class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

async function request(path, { body, headers, ...rest } = {}) {
  const options = { ...rest, headers };
  if (body !== undefined) {
    options.method = "POST";
    options.body = body;
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is `deepsteiner serve` still running?");
  }
  if (!answer.ok) throw new ApiError(await sentence(answer), answer.status);
  return answer;
}

async function sentence(answer) {
  try {
    const { error } = await answer.json();
    if (error) return error;
  } catch {
    // Not JSON: the status line has to do.
  }
  return `The server refused (${answer.status} ${answer.statusText}). Try again; its terminal may say more.`;
}

const json = (value) => ({
  body: JSON.stringify(value),
  headers: { "Content-Type": "application/json" },
});

export const methods = async () => (await request("api/methods")).json();
export const limits = async () => (await request("api/limits")).json();

export async function sample(name, n, seed) {
  const query = new URLSearchParams({ seed });
  if (n) query.set("n", n);
  return (await request(`api/samples/${name}?${query}`)).json();
}

/** Points of a file's text (or of the file itself); its name tells the format. */
export async function read(text, filename) {
  // A header holds ASCII only, and the server wants the suffix, not the name.
  const name = filename.replace(/[^\w.-]/g, "_");
  return (await request("api/read", { body: text, headers: { "X-Filename": name } })).json();
}

export async function solve(job, signal) {
  return (await request("api/solve", { ...json(job), signal })).json();
}

export async function trace(job, signal) {
  return (await request("api/trace", { ...json(job), signal })).json();
}

/** The file of a solution, with relays where `maxEdge` asks for them: {blob, name}. */
export async function exported(solution, format, maxEdge) {
  const answer = await request("api/export", json({ solution, format, max_edge: maxEdge }));
  const named = /filename="?([^";]+)"?/.exec(answer.headers.get("Content-Disposition") ?? "");
  return { blob: await answer.blob(), name: named ? named[1] : `tree.${format}` };
}

/**
 * Solve with progress. `onProgress` gets every report; the promise resolves to the solution.
 * Returns {result, cancel, abort}: `cancel` asks for the best tree so far, which `result` then
 * gives; `abort` hangs up.
 */
export function solveStream(job, onProgress) {
  const control = new AbortController();
  const state = { id: null };
  const cancel = () => {
    if (state.id === null) control.abort();
    else request(`api/jobs/${state.id}`, { method: "DELETE" }).catch(() => control.abort());
  };
  const result = followStream(job, onProgress, control, state);
  return { result, cancel, abort: () => control.abort() };
}

async function followStream(job, onProgress, control, state) {
  const answer = await request("api/solve/stream", { ...json(job), signal: control.signal });
  for await (const { event, data } of events(answer.body)) {
    if (event === "job") state.id = data.id;
    else if (event === "progress" || event === "incumbent") onProgress(data, event);
    else if (event === "solution") return data;
    else if (event === "error") throw new ApiError(data.error);
  }
  throw new ApiError("The server ended the solve without an answer. Try again; its terminal may say more.");
}

/** Server-sent events of a stream, parsed. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value.replaceAll("\r\n", "\n");
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const frame = parseFrame(buffer.slice(0, end));
      buffer = buffer.slice(end + 2);
      if (frame) yield frame;
    }
  }
}

function parseFrame(text) {
  let event = "message";
  const data = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trim());
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}
