// Writes compressed neighbours for every asset that gains from it, so that the
// host can embed and serve them without compressing anything itself.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

const TEXT = /\.(?:js|css|html|svg|webmanifest|json)$/;

export function compress(): Plugin {
  let outDir = "";
  return {
    name: "compress-assets",
    apply: "build",
    configResolved(config) {
      outDir = config.build.outDir;
    },
    closeBundle() {
      for (const path of filesIn(outDir)) {
        if (!TEXT.test(path)) continue;
        const plain = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
        writeFileSync(`${path}.br`, brotli(plain));
      }
    },
  };
}

function brotli(plain: Buffer): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_MAX_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return brotliCompressSync(plain, { params: { [BROTLI_PARAM_QUALITY]: BROTLI_MAX_QUALITY, [BROTLI_PARAM_SIZE_HINT]: plain.length } });
}

function filesIn(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}
