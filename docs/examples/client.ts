// Runs one turn: node client.ts ADDRESS PROVIDER PROMPT, where ADDRESS is the
// WebSocket address that the host prints. Needs Node 22.18, or a newer one, and nothing else.
const [address, provider, prompt] = process.argv.slice(2);
type Message = { id?: number; method?: string; params?: any; result?: any; error?: { message: string } };

const socket = new WebSocket(address!);
const waiting = new Map<number, (answer: Message) => void>();
let lastId = 0;

const send = (message: Message) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));

function request(method: string, params: object): Promise<any> {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise((resolve, reject) =>
    waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result))),
  );
}

socket.onmessage = ({ data }) => {
  const message: Message = JSON.parse(data);
  if (message.id !== undefined && !message.method) return waiting.get(message.id)?.(message);
  const action = message.params?.action;
  if (action?.type === "chat/delta") process.stdout.write(action.content);
  if (action?.type === "chat/error") throw new Error(action.part.error.message);
  if (action?.type === "chat/turnComplete") socket.close();
};
await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
const clientId = crypto.randomUUID();
await request("initialize", { channel: "ahp-root://", clientId, protocolVersions: ["1.0.0"] });
const session = `ahp-session:/${crypto.randomUUID()}`;
await request("createSession", { channel: session, provider });
const { snapshot } = await request("subscribe", { channel: session });
const chat = snapshot.state.defaultChat;
await request("subscribe", { channel: chat });
const message = { text: prompt, origin: { kind: "user" } };
const action = { type: "chat/turnStarted", turnId: "1", message };
send({ method: "dispatchAction", params: { channel: chat, clientSeq: 1, action } });
