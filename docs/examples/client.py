"""Runs one turn: python3 client.py PROVIDER PROMPT. Needs only Python 3.8."""
import itertools
import json
import subprocess
import sys
import uuid

provider, prompt = sys.argv[1:3]
host = subprocess.Popen(
    ["innkeeper", "serve", "--stdio", "--log", "warn"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
)
ids = itertools.count(1)

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=host.stdin, flush=True)

def request(method, **params):
    number = next(ids)
    send({"id": number, "method": method, "params": params})
    for line in host.stdout:
        answer = json.loads(line)
        if answer.get("id") == number and "method" not in answer:
            if "error" in answer:
                sys.exit(answer["error"]["message"])
            return answer["result"]
    sys.exit("the host ended")

request("initialize", channel="ahp-root://", clientId=str(uuid.uuid4()), protocolVersions=["1.0.0"])
session = f"ahp-session:/{uuid.uuid4()}"
request("createSession", channel=session, provider=provider)
chat = request("subscribe", channel=session)["snapshot"]["state"]["defaultChat"]
request("subscribe", channel=chat)
turn = {"type": "chat/turnStarted", "turnId": "1",
        "message": {"text": prompt, "origin": {"kind": "user"}}}
send({"method": "dispatchAction", "params": {"channel": chat, "clientSeq": 1, "action": turn}})
for line in host.stdout:
    action = json.loads(line).get("params", {}).get("action", {})
    if action.get("type") == "chat/delta":
        print(action["content"], end="", flush=True)
    elif action.get("type") == "chat/error":
        sys.exit(action["part"]["error"]["message"])
    elif action.get("type") == "chat/turnComplete":
        break
print()
host.stdin.close()
host.wait()
