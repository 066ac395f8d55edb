import { keyLabel, SHORTCUTS } from "./shortcuts";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";

/** All keys, on one page. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog label="Keyboard shortcuts" onClose={onClose} className="keys-dialog">
      <header className="dialog-head">
        <h2>Keyboard shortcuts</h2>
        <form method="dialog">
          <button type="submit" className="icon-button" aria-label="Close" data-first-focus>
            <Icon name="close" />
          </button>
        </form>
      </header>
      <Keys />
    </Dialog>
  );
}

export function Keys() {
  return (
    <div className="keys">
      {SHORTCUTS.map(({ where, keys }) => (
        <section key={where}>
          <h3>{where}</h3>
          <dl className="shortcuts">
            {keys.map((shortcut) => (
              <div key={shortcut.keys}>
                <dt>
                  <kbd>{keyLabel(shortcut.keys)}</kbd>
                </dt>
                <dd>{shortcut.meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}
