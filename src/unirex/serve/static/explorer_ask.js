// Asks the server with the key, which stays in the storage of this tab.
const explorerAsk = (() => {
  const KEY = "unirex-key";
  const ATTEMPTS = 6;
  let given = null; // where there is no storage

  function key() {
    try { return sessionStorage.getItem(KEY) ?? given; } catch { return given; }
  }

  function keep(value) {
    given = value;
    try { sessionStorage.setItem(KEY, value); } catch { /* it is asked for again when the page is loaded */ }
  }

  const pause = (seconds, signal) => new Promise((done, stopped) => {
    const handle = setTimeout(done, 1000 * seconds);
    signal?.addEventListener("abort", () => { clearTimeout(handle); stopped(new DOMException("", "AbortError")); });
  });

  /** The answer; a server that has too much to do is asked again, and `waits` is called with the seconds until then. */
  async function ask(path, body, { signal, waits = () => {} } = {}) {
    const headers = key() ? { Authorization: `Bearer ${key()}` } : {};
    for (let left = ATTEMPTS; ; left--) {
      try {
        return await live.ask(path, body, { headers, signal });
      } catch (error) {
        if (error.status !== 429 || left <= 1) throw error;
        waits(error.after ?? 1);
        await pause(error.after ?? 1, signal);
      }
    }
  }

  return { ask, keep };
})();
