// Comments on lines of a difference, with a real git behind the real host.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { axeFindings, hostAndBrowser, play, repositoryIn, scenario, sessionIn } from "./harness";

const inn = hostAndBrowser();

test("a line is commented, answered, sent to the agent and resolved, and says when it is lost", async () => {
  const directory = repositoryIn(join(inn.host.directory, "commented"));
  const page = await inn.open("#/new");
  await sessionIn(page, directory);
  await play(page, scenario({ edit: { path: "menu.txt", content: "soup\ncake\n" } }));
  await page.getByRole("button", { name: "Changes" }).click();
  const changes = page.locator(".changes");
  await changes.locator(".diff-added", { hasText: "cake" }).waitFor();

  await changes.getByRole("button", { name: "Comment on line 2" }).press("Enter");
  await changes.getByRole("textbox", { name: "Comment on line 2" }).fill("Which cake?");
  // What is being written follows its line, and outlives the page.
  writeFileSync(join(directory, "menu.txt"), "bread\nsoup\ncake\n");
  const form = changes.getByRole("textbox", { name: "Comment on line 3" });
  await form.waitFor();
  await page.reload();
  expect(await form.inputValue()).toBe("Which cake?");
  await form.press("Control+Enter");
  const thread = changes.getByRole("group", { name: "Comment" });
  await thread.getByText("Which cake?").waitFor();
  await thread.getByRole("button", { name: "Answer" }).click();
  await thread.getByRole("textbox", { name: "Answer" }).fill("Cheesecake.");
  await thread.getByRole("button", { name: "Save" }).click();
  await thread.getByText("Cheesecake.").waitFor();
  expect(await axeFindings(page)).toEqual([]);

  await changes.getByText("1 comment, 1 open").click();
  await changes.getByRole("button", { name: "Send comments to the agent" }).click();
  await page.getByText("Please address these comments.").first().waitFor();

  await thread.getByRole("button", { name: "Resolve" }).click();
  await changes.getByText("1 comment, 0 open").waitFor();
  writeFileSync(join(directory, "menu.txt"), "soup\nfruit\n");
  await changes.getByText("lines lost").waitFor();
  await changes.getByText("These lines are no longer in the file:").waitFor();
  await changes.getByRole("button", { name: "Delete comment" }).click();
  await changes.getByText("1 comment, 0 open").waitFor({ state: "detached" });
});
