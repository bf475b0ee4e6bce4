import * as bb from "../../sdk/index.ts";

/** The least a context does: it renders the conversation as the Hub keeps it. */
export async function main({ signal }: Parameters<bb.Main>[0]): Promise<void> {
  const satellite = await bb.sync({ kind: "context", name: "plain", controller: true, signal });
  satellite.onRender(({ history, tools }) => ({ messages: history, tools }));
  await satellite.start();
}
