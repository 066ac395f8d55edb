// The page of automations, with a real host behind it.

import { expect, test } from "vitest";
import { axeFindings, hostAndBrowser } from "./harness";

const inn = hostAndBrowser();

test("an automation is written with its next runs in view, run by hand, edited and deleted", async () => {
  const page = await inn.open("#/automations");
  await page.getByText("There are no automations yet.").waitFor();
  await page.getByRole("button", { name: "New automation" }).click();
  const form = page.getByRole("form", { name: "Automation" });
  await form.getByLabel("Title").fill("Say hello");
  await form.getByLabel("What to do").fill("hello");
  await form.getByLabel("When", { exact: true }).selectOption({ label: "From Monday to Friday at 09:00" });
  await form.getByText("At 09:00 from Monday to Friday.").waitFor();
  expect(await form.getByRole("list", { name: "Next runs" }).getByRole("listitem").count()).toBe(3);
  expect(await axeFindings(page)).toEqual([]);
  await form.getByRole("button", { name: "Save" }).click();

  const entry = page.getByRole("listitem", { name: "Say hello" });
  await entry.getByText("Next run:").waitFor();
  await entry.getByRole("button", { name: "Run now" }).click();
  await entry.getByText("Runs").waitFor();
  await entry.getByText("Completed").waitFor({ state: "attached" });
  expect(await axeFindings(page)).toEqual([]);

  await entry.getByLabel("Enabled").click();
  await entry.getByText("Next run:").waitFor({ state: "detached" });
  await entry.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("form", { name: "Automation" }).getByLabel("Title").fill("Greet");
  await page.getByRole("button", { name: "Save" }).click();
  const renamed = page.getByRole("listitem", { name: "Greet" });
  await renamed.waitFor();

  if (!(await renamed.getByRole("link", { name: "Open session" }).isVisible())) await renamed.getByText("Runs").click();
  await renamed.getByRole("link", { name: "Open session" }).click();
  await page.getByRole("heading", { name: "Say hello" }).first().waitFor();
  await page.goBack();
  await page.getByRole("listitem", { name: "Greet" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete it for good" }).click();
  await page.getByText("There are no automations yet.").waitFor();
});
