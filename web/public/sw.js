// Makes the client installable and lets it start without the host: the page
// itself then says that the host does not answer. Everything that it takes is
// kept when the worker is installed. Assets have hashed names and never change;
// the page is fetched anew whenever the host is there.
const CACHE = "innkeeper-2";
const PAGE = ["/", "/icon.svg", "/icon-192.png", "/manifest.webmanifest"];
/** A host that does not answer within this time is taken for gone. */
const PATIENCE_MS = 4_000;

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(keepAll());
});

self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(fromCache(request));
  else if (PAGE.includes(url.pathname)) event.respondWith(fresh(request, url.pathname));
});

// A notification leads to its session, in the window that there is.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? "#/")));
});

async function show(hash) {
  const [open] = await self.clients.matchAll({ type: "window" });
  if (!open) return self.clients.openWindow(`/${hash}`);
  await open.navigate(`/${hash}`).catch(() => undefined);
  return open.focus();
}

async function listed() {
  const answer = await fetch("/precache.json");
  return answer.ok ? answer.json() : [];
}

async function keepAll() {
  const cache = await caches.open(CACHE);
  await cache.addAll(PAGE);
  // One asset that fails must not keep the others out.
  await Promise.allSettled((await listed()).map((path) => cache.add(path)));
}

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function fromCache(request) {
  const cache = await caches.open(CACHE);
  const known = await cache.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

async function fresh(request, path) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) });
    // Under its path alone: the query may hold the token.
    if (answer.ok) await keepFresh(cache, path, answer.clone());
    return answer;
  } catch (error) {
    const known = await cache.match(path);
    if (known) return known;
    throw error;
  }
}

/** A page that names other assets than the last one belongs to another build: its assets are kept, and the old ones go. */
async function keepFresh(cache, path, answer) {
  if (path !== "/") return cache.put(path, answer);
  const [before, now] = await Promise.all([cache.match("/").then((known) => known?.text()), answer.clone().text()]);
  await cache.put("/", answer);
  if (before === now) return;
  void (async () => {
    const wanted = await listed();
    await Promise.allSettled(wanted.map(async (asset) => (await cache.match(asset)) ?? cache.add(asset)));
    for (const { url } of await cache.keys()) {
      const { pathname } = new URL(url);
      if (pathname.startsWith("/assets/") && !wanted.includes(pathname)) await cache.delete(url);
    }
  })().catch(() => undefined);
}
