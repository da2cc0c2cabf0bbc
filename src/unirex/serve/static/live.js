// Asking the server that the page comes from. An answer that is an error is thrown with the server's words.
const live = (() => {
  /** The answer to a request with a JSON body (POST), or without one (GET). */
  async function ask(path, body, { method, signal, headers = {} } = {}) {
    const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers: { ...headers }, signal };
    if (body !== undefined) {
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    let response;
    try {
      response = await fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server does not answer.");
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    throw Object.assign(new Error(answer.error ?? `The server answered ${response.status}.`), {
      status: response.status, kind: answer.error_type, after: Number(response.headers.get("Retry-After")) || null,
    });
  }

  /** Python counts characters, a script UTF-16 units: where each character of the text begins, and its end. */
  function units(text) {
    const places = [];
    let at = 0;
    for (const character of text) { places.push(at); at += character.length; }
    places.push(at);
    return places;
  }

  return { ask, units };
})();
