export { default } from "./TerminalView";
