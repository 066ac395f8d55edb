// Makes the client installable and lets it start without the host: the page
// itself then says that the host does not answer. Assets have hashed names and
// never change; the page is fetched anew whenever the host is there.
const CACHE = "innkeeper-1";
// Where the page is: a proxy may serve it below a path of its own.
const BASE = new URL("./", location.href).pathname;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith(`${BASE}assets/`)) event.respondWith(fromCache(request));
  else if (request.mode === "navigate" && url.pathname === BASE) event.respondWith(fresh(request));
});

// A notification leads to its session, in the window that there is.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? "#/")));
});

async function show(hash) {
  const [open] = await self.clients.matchAll({ type: "window" });
  if (!open) return self.clients.openWindow(`${BASE}${hash}`);
  await open.navigate(`${BASE}${hash}`).catch(() => undefined);
  return open.focus();
}

async function fromCache(request) {
  const cache = await caches.open(CACHE);
  const known = await cache.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

async function fresh(request) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(request);
    // Without the query: it may hold the token.
    if (answer.ok) await cache.put(BASE, answer.clone());
    return answer;
  } catch (error) {
    const known = await cache.match(BASE);
    if (known) return known;
    throw error;
  }
}
