// Sends requests to the server. An answer with an error status is thrown as an Error with the server's message.
let key = "";
export const setKey = (text) => { key = text; };

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function request(path, body, signal) {
  const headers = key ? {Authorization: `Bearer ${key}`} : {};
  if (body) headers["Content-Type"] = "application/json";
  const options = {method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body)};
  const answer = await fetch(path, options).catch((error) => {
    throw error.name === "AbortError" ? error : new ApiError(0, "The server does not answer. Is it still running?");
  });
  if (answer.ok) return answer;
  const data = await answer.json().catch(() => null);
  const message = data?.error?.message ?? data?.error ?? `The server answers with status ${answer.status}.`;
  throw new ApiError(answer.status, message);
}

// Yields the data of each server-sent event, parsed as JSON, until the stream ends.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let buffer = "", part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (buffer + part.value).split("\n\n");
    buffer = lines.pop();
    for (const line of lines) {
      const data = line.replace(/^data: /, "");
      if (data !== "[DONE]") yield JSON.parse(data);
    }
  }
}
