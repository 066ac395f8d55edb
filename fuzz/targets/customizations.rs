//! Whatever is in the files of a plugin or of a working directory. The first
//! byte of each file says where it is; files end with a zero.
#![no_main]

use libfuzzer_sys::fuzz_target;

const PATHS: [&str; 14] = [
    ".plugin/plugin.json",
    ".claude-plugin/plugin.json",
    ".mcp.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    "hooks/hooks.json",
    ".claude/settings.json",
    "agents/a.md",
    "skills/s/SKILL.md",
    "commands/c.md",
    "rules/r.mdc",
    ".claude/agents/a.md",
    ".github/prompts/p.prompt.md",
    "AGENTS.md",
];

fuzz_target!(|data: &[u8]| {
    let files = data.split(|byte| *byte == 0).take(8);
    let files = files.filter_map(|file| {
        let (path, text) = file.split_first()?;
        let path = PATHS[usize::from(*path) % PATHS.len()];
        Some((path, std::str::from_utf8(text).ok()?))
    });
    innkeeper_workspace::fuzzing::customizations(&files.collect::<Vec<_>>());
});
