// A model on loopback that tells one story: whatever agent asks, it reads a
// file, corrects it, runs the tests and says what it did. So real agents can be
// shown at work without a network, and always in the same way.

import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export const prompt = "Orders ignore the discount. Find out why, fix it, and run the tests.";

export const files = {
  ".gitignore": "__pycache__/\n",
  "shop/order.py": `"""What an order costs."""


def total(prices, discount=0):
    """The sum of all prices, less a discount in percent."""
    amount = sum(prices)
    reduction = amount * discount / 100
    return round(amount, 2)
`,
  "shop/test_order.py": `import unittest

from order import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([10, 5.5]), 15.5)

    def test_discount(self):
        self.assertEqual(total([10, 10], discount=25), 15)


if __name__ == "__main__":
    unittest.main()
`,
};

interface Step {
  say: string;
  tool?: { name: string; input: unknown };
}

function steps(directory: string): Step[] {
  const file = join(directory, "shop/order.py");
  return [
    { say: "I'll look at how the total is computed.", tool: { name: "Read", input: { file_path: file } } },
    {
      say: "`total` computes the reduction but never subtracts it. I'll fix the return value.",
      tool: {
        name: "Edit",
        input: { file_path: file, old_string: "    return round(amount, 2)", new_string: "    return round(amount - reduction, 2)" },
      },
    },
    {
      say: "Now the tests.",
      tool: { name: "Bash", input: { command: "python3 -m unittest discover -s shop -v", description: "Run the tests" } },
    },
    {
      say: "Fixed. `total` computed the discount and then returned the full amount:\n\n```diff\n-    return round(amount, 2)\n+    return round(amount - reduction, 2)\n```\n\nBoth tests pass.",
    },
  ];
}

interface Request {
  messages: { role: string; content: unknown }[];
  tools?: unknown[];
  stream?: boolean;
}

/** How many tools have answered since the prompt. */
function answered(request: Request): number {
  const blocks = request.messages.flatMap(({ content }) => (Array.isArray(content) ? (content as { type?: string }[]) : []));
  return blocks.filter((block) => block.type === "tool_result").length;
}

async function body(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The answer as Anthropic's API streams it, at the pace of a fast model. */
async function tell(response: ServerResponse, step: Step, id: number, pace: number): Promise<void> {
  const event = (type: string, data: object) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  const pause = () => new Promise((resolve) => setTimeout(resolve, pace));
  response.writeHead(200, { "content-type": "text/event-stream" });
  const usage = { input_tokens: 900, output_tokens: 1 };
  event("message_start", { message: { id: `msg_${id}`, type: "message", role: "assistant", model: "scripted", content: [], stop_reason: null, usage } });
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  for (const text of step.say.match(/\S+\s*/g) ?? []) {
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
    await pause();
  }
  event("content_block_stop", { index: 0 });
  if (step.tool) {
    const { name, input } = step.tool;
    event("content_block_start", { index: 1, content_block: { type: "tool_use", id: `toolu_${id}`, name, input: {} } });
    event("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } });
    event("content_block_stop", { index: 1 });
  }
  event("message_delta", { delta: { stop_reason: step.tool ? "tool_use" : "end_turn" }, usage: { output_tokens: 120 } });
  event("message_stop", {});
  response.end();
}

export interface Model {
  address: string;
  stop: () => void;
}

export async function storyteller(directory: string, pace = 40): Promise<Model> {
  let count = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const text = await body(request);
      if (request.method !== "POST" || !request.url?.startsWith("/v1/messages")) return void response.end("{}");
      if (request.url.includes("count_tokens")) return void response.end('{"input_tokens": 900}');
      const asked = JSON.parse(text) as Request;
      const story = steps(directory);
      // Agents also ask for titles and the like, without tools.
      const title: Step = { say: "Fix the ignored discount" };
      const step = asked.tools?.length ? (story[answered(asked)] ?? story.at(-1)!) : title;
      count += 1;
      if (asked.stream) return tell(response, step, count, pace);
      const content = [{ type: "text", text: step.say }];
      const message = { id: `msg_${count}`, type: "message", role: "assistant", model: "scripted", content, stop_reason: "end_turn", usage: { input_tokens: 900, output_tokens: 9 } };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(message));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, stop: () => server.close() };
}
