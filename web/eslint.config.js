import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/** Each layer may use those before it. `lib` stands beside them. */
const LAYERS = ["protocol", "state", "app", "views"];

const oneWay = LAYERS.slice(0, -1).map((layer, index) => {
  const message = `${layer}/ must not know what is built upon it.`;
  const group = LAYERS.slice(index + 1).map((above) => `**/${above}`);
  return {
    files: [`src/${layer}/**`],
    // A test may put something real at the other end.
    ignores: ["**/*.test.*"],
    rules: { "no-restricted-imports": ["error", { patterns: [{ group, message }] }] },
  };
});

export default tseslint.config(
  { ignores: ["node_modules", "public"] },
  ...tseslint.configs.recommended,
  {
    plugins: { "react-hooks": reactHooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-console": "error",
    },
  },
  ...oneWay,
  { files: ["browser/**", "build/**"], rules: { "no-console": "off" } },
);
