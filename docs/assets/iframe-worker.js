// Browsers give pages that are opened from a disk no workers, and the search runs in one. There, and only there, this
// one stands in: it runs the worker's script in a hidden frame. (The offline plugin's own would come from elsewhere.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.head.append(this.frame);
      const inside = this.frame.contentWindow;
      // What the script posts becomes a message of this worker; what is posted to this worker, one inside the frame.
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...urls) => {
        for (const each of urls) await load(inside.document, each);
      };
      this.loaded = load(inside.document, new URL(url, location.href));
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };

  function load(page, url) {
    return new Promise((done, failed) => {
      const script = page.createElement("script");
      Object.assign(script, { src: url, onload: done, onerror: failed });
      page.head.append(script);
    });
  }
}
