/** Sends all that its tenant may, as fast as it may: inputs to fifty conversations, lists and new titles. */
import * as bb from "bytebot/sdk";

const A_SECOND = 490;
const TICK_MS = 20;

export const main: bb.Main = async ({ opts }) => {
  const tenant = String(opts["tenant"]);
  const ui = await bb.sync({ kind: "ui", scopes: [tenant] });
  let sent = 0;
  const started = performance.now();
  const timer = setInterval(() => {
    for (const until = ((performance.now() - started) / 1000) * A_SECOND; sent < until; sent++) {
      const scope = `${tenant}/c_${sent % 50}`;
      const id = `flood-${sent}`;
      if (sent % 10 === 3) ui.send({ event_type: "bb_conversations", id });
      else if (sent % 10 === 7) ui.send({ event_type: "bb_rename", id, scope, title: `title ${sent}` });
      else ui.send({ event_type: "user_event", type: "message", scope, text: "x".repeat(200) });
    }
  }, TICK_MS);
  await ui.start();
  clearInterval(timer);
};

await bb.run(main);
