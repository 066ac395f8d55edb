// JSON-RPC over anything that carries text: numbers for questions, answers
// matched to them, notifications passed on.

export interface RpcErrorBody {
  code: number;
  message: string;
  data?: unknown;
}

export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: RpcErrorBody) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The connection went away before the answer came. */
export class ConnectionLost extends Error {}

export const ErrorCode = {
  SessionNotFound: -32001,
  SessionAlreadyExists: -32003,
  MethodNotFound: -32601,
  AuthRequired: -32007,
  NotFound: -32008,
  PermissionDenied: -32009,
  AlreadyExists: -32010,
} as const;

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
  /** Runs with the result before any later message is looked at. */
  apply?: (result: unknown) => void;
}

interface Incoming {
  id?: number | string | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: RpcErrorBody;
}

export class Rpc {
  private nextId = 1;
  private readonly waiting = new Map<number, Waiting>();

  constructor(
    private readonly send: (text: string) => void,
    private readonly onNotification: (method: string, params: unknown) => void,
  ) {}

  request<T>(method: string, params: object, apply?: (result: T) => void): Promise<T> {
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, apply } as Waiting);
      this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  notify(method: string, params: object): void {
    this.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  receive(text: string): void {
    const message = JSON.parse(text) as Incoming;
    if (message.method !== undefined) {
      if (message.id != null) {
        // The host asks nothing that this client could answer.
        const error = { code: ErrorCode.MethodNotFound, message: "not supported by this client" };
        this.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      } else this.onNotification(message.method, message.params);
      return;
    }
    const waiting = this.waiting.get(Number(message.id));
    if (!waiting) return;
    this.waiting.delete(Number(message.id));
    if (message.error) return waiting.reject(new RpcError(message.error));
    waiting.apply?.(message.result);
    waiting.resolve(message.result);
  }

  /** Nothing more will come: whoever waits is told. */
  close(): void {
    for (const { reject } of this.waiting.values()) reject(new ConnectionLost("the connection was lost"));
    this.waiting.clear();
  }
}
