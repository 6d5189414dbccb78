// Asks the server. An answer that is not a success becomes an Error with the server's own words.
let key = "";
export const useKey = (text) => { key = text; };

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function ask(path, body, signal) {
  const headers = key ? {Authorization: `Bearer ${key}`} : {};
  if (body) headers["Content-Type"] = "application/json";
  const request = {method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body)};
  const answer = await fetch(path, request).catch((error) => {
    throw error.name === "AbortError" ? error : new Refused(0, "The server does not answer. Is it still running?");
  });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => null);
  const message = told?.error?.message ?? told?.error ?? `The server answers with status ${answer.status}.`;
  throw new Refused(answer.status, message);
}

// Yields the JSON of each server-sent event until the stream ends.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let waiting = "", part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (waiting + part.value).split("\n\n");
    waiting = lines.pop();
    for (const line of lines) {
      const data = line.replace(/^data: /, "");
      if (data !== "[DONE]") yield JSON.parse(data);
    }
  }
}
