// What this browser remembers. Settings that should follow the user to other
// clients live on the host, in the root channel's config.

export interface Remembered {
  read: () => string | undefined;
  write: (value: string) => void;
}

export function remembered(name: string): Remembered {
  const key = `innkeeper.${name}`;
  return {
    read: () => {
      try {
        return localStorage.getItem(key) ?? undefined;
      } catch {
        return undefined;
      }
    },
    write: (value) => {
      try {
        localStorage.setItem(key, value);
      } catch {
        // Then it is forgotten with the page.
      }
    },
  };
}

export type Theme = "system" | "light" | "dark";

const theme = remembered("theme");

export function currentTheme(): Theme {
  const kept = theme.read();
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(next: Theme): void {
  theme.write(next);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = currentTheme();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
