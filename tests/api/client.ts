/* Uses the client that was generated from the API's description: makes the calls of a test and prints
 * what became of each as JSON. The compiler has seen by then that the types fit. */
import { ApiError, Config, ConfigService, NodeService, OpenAPI, PublicService } from './generated';

declare const process: { argv: string[]; exitCode: number };

const [, , base, admin, viewer] = process.argv;

async function refusal(call: Promise<unknown>) {
    try {
        await call;
    } catch (error) {
        if (error instanceof ApiError) {
            return { status: error.status, body: error.body };
        }
        throw error;
    }
    throw new Error('this was not refused');
}

async function run() {
    OpenAPI.BASE = base;
    const health = await PublicService.health();
    const nobody = await refusal(NodeService.nodeList());
    OpenAPI.TOKEN = admin;
    const nodes = await NodeService.nodeList();
    const names: (string | undefined)[] = nodes.items.map((node) => node.metadata?.name);
    const session = await PublicService.sessionCreate({ token: admin });
    const made = await ConfigService.configPut('cluster', {
        metadata: { name: 'cluster', labels: { tier: 'test' } },
        spec: { title: 'Blue', color: Config.color.BLUE },
    });
    const patched = await ConfigService.configPatch('cluster', { spec: { title: 'Navy' } });
    const shown = await ConfigService.configGet('cluster');
    const listed = await ConfigService.configList(1, undefined, 'tier=test');
    const wrong = await refusal(ConfigService.configPut('cluster', {
        spec: { color: 'pink' as Config.color },
    }));
    const stale = await refusal(ConfigService.configPut('cluster', { spec: {} }, '"1"'));
    const once = await ConfigService.configCreate({ metadata: { name: 'once' } }, 'key-1', 'a test');
    const again = await ConfigService.configCreate({ metadata: { name: 'once' } }, 'key-1');
    const other = await refusal(ConfigService.configCreate({ metadata: { name: 'two' } }, 'key-1'));
    await ConfigService.configDelete('once');
    const missing = await refusal(NodeService.nodeGet('nobody'));
    OpenAPI.TOKEN = viewer;
    const seen = await ConfigService.configGet('cluster');
    const denied = await refusal(ConfigService.configPut('cluster', { spec: { title: 'Mine' } }));
    const kept = await ConfigService.configGet('cluster');
    OpenAPI.TOKEN = admin;
    await ConfigService.configDelete('cluster');
    const gone = await refusal(ConfigService.configGet('cluster'));
    console.log(JSON.stringify({ health, nobody, names, session, made, patched, shown, listed, wrong,
                                 stale, once, again, other, missing, seen, denied, kept, gone }));
}

run().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
