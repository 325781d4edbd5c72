/* A foreign client of a server's real services, @grpc/grpc-js with the project's own eden.proto:
 * makes the calls of the task in argv[2], one after another, and prints what became of each as
 * JSON. Bytes are base64 there. */
'use strict';
const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const task = JSON.parse(process.argv[2]);
const loaded = loader.loadSync(task.proto, { keepCase: true, longs: Number, bytes: String,
                                             defaults: true, oneofs: true });
const { Store, Session } = grpc.loadPackageDefinition(loaded).eden.v1;
/* Whom the server's certificate names is no host: that the cluster's CA signed it is what counts. */
const credentials = grpc.credentials.createSsl(fs.readFileSync(task.ca), fs.readFileSync(task.key),
    fs.readFileSync(task.certificate), { checkServerIdentity: () => undefined });
const options = { 'grpc.enable_retries': 0 };
const store = new Store(task.target, credentials, options);
const session = new Session(task.target, credentials, options);

function metadata() {
    const fields = new grpc.Metadata();
    fields.set('eden-protocol', String(task.protocol || 1));
    return fields;
}

const deadline = (step) => (step.timeout ? { deadline: Date.now() + step.timeout } : {});
/* Reads a stream until it ends; it is canceled when as many messages have come as were wanted. */
function drain(call, step, resolve) {
    const messages = [];
    call.on('data', (message) => {
        messages.push(message);
        if (messages.length === step.cancel) {
            call.cancel();
        }
    });
    call.on('error', () => {});
    call.on('status', (status) => resolve({ code: status.code, details: status.details, messages }));
}

const kinds = {
    unary: (step, resolve) => {
        store[step.method](step.request || {}, metadata(), deadline(step), (err, answer) => {
            resolve(err ? { code: err.code, details: err.details }
                        : { code: 0, answer });
        });
    },
    watch: (step, resolve) => {
        drain(store.Watch(step.request, metadata(), deadline(step)), step, resolve);
    },
    /* Says the first message at once and another with each that comes; takes the changes it is told,
     * and ends when as many messages have come as were wanted. */
    session: (step, resolve) => {
        const call = session.Session(metadata(), deadline(step));
        const say = [...step.say];
        let came = 0;
        drain(call, step, resolve);
        call.on('data', (message) => {
            if (message.changes) {
                const { watch, revision } = message.changes;
                call.write({ taken: { watch, revision } });
            }
            if (say.length > 0) {
                call.write(say.shift());
            }
            if (++came === step.end) {
                call.end();
            }
        });
        call.write(say.shift());
    },
    /* Asks until the store has as many watches as in an earlier answer: a reset needs its time to
     * arrive. */
    until: (step, resolve, results) => {
        const wanted = results[step.as].answer.watches;
        const ask = (tries) => {
            kinds.unary({ method: 'Status' }, (got) => {
                if (tries === 0 || got.answer.watches === wanted) {
                    resolve(got);
                } else {
                    ask(tries - 1);
                }
            });
        };
        ask(1000);
    },
};

async function main() {
    const results = [];
    for (const step of task.steps) {
        results.push(await new Promise((resolve) => kinds[step.kind](step, resolve,
            results)));
    }
    store.close();
    session.close();
    console.log(JSON.stringify(results));
}

main();
