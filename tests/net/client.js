/* A foreign client, @grpc/grpc-js: makes the calls of the task in argv[2], one after another, and
 * prints what became of each as JSON. Messages are plain bytes. */
'use strict';
const fs = require('fs');
const grpc = require('@grpc/grpc-js');

const task = JSON.parse(process.argv[2]);
const read = (path) => (path ? fs.readFileSync(path) : null);
const credentials = task.tls
    ? grpc.credentials.createSsl(read(task.ca), read(task.key), read(task.certificate))
    : grpc.credentials.createInsecure();
const client = new grpc.Client(task.target, credentials, { 'grpc.enable_retries': 0 });
const same = (bytes) => bytes;
const options = (step) => (step.timeout ? { deadline: Date.now() + step.timeout } : {});
const path = (step) => '/test.Echo/' + step.method;
const text = (step) => Buffer.from(step.send || '');

/* What is told of every call. */
function result(status, more) {
    return { code: status.code, details: status.details, ...more };
}

/* Reads a stream to its end. */
function drain(call, step, resolve) {
    let messages = 0, bytes = 0, last = '', status = null;
    call.on('data', (message) => {
        messages++;
        bytes += message.length;
        last = message.length < 200 ? message.toString() : '';
        if (step.cancelAfter === messages) {
            call.cancel();
        }
    });
    call.on('error', () => {});
    call.on('status', (got) => {
        status = got;
        resolve(result(status, { messages, bytes, last }));
    });
}

const kinds = {
    unary: (step, resolve) => {
        const metadata = new grpc.Metadata();
        for (const [name, value] of Object.entries(step.metadata || {})) {
            metadata.set(name, value);
        }
        let answer = null;
        const request = step.bytes ? Buffer.alloc(step.bytes) : text(step);
        client.makeUnaryRequest(path(step), same, same, request, metadata,
            options(step), (err, value) => {
                answer = value ? { bytes: value.length, last: value.toString().slice(0, 2000) } : {};
                if (err) {
                    resolve(result(err, answer));
                } else {
                    resolve(result({ code: 0, details: '' }, answer));
                }
            });
    },
    download: (step, resolve) => {
        const call = client.makeServerStreamRequest(path(step), same, same, text(step),
            new grpc.Metadata(), options(step));
        drain(call, step, resolve);
    },
    upload: (step, resolve) => {
        const call = client.makeClientStreamRequest(path(step), same, same, new grpc.Metadata(),
            options(step), (err, value) => resolve(result(err || { code: 0, details: '' },
                { last: value ? value.toString() : '' })));
        for (let i = 0; i < step.count; i++) {
            call.write(Buffer.alloc(step.size));
        }
        call.end();
    },
    chat: (step, resolve) => {
        const call = client.makeBidiStreamRequest(path(step), same, same, new grpc.Metadata(),
            options(step));
        drain(call, step, resolve);
        /* Ping-pong: the next word follows the answer to the one before. */
        let next = 0;
        const say = () => {
            if (next < step.words.length) {
                call.write(Buffer.from(step.words[next++]));
            } else {
                call.end();
            }
        };
        call.on('data', say);
        say();
    },
};

/* Asks for the server's counts until they are as wanted; a reset needs its time to arrive. */
kinds.until = (step, resolve) => {
    const ask = (tries) => {
        kinds.unary({ method: 'Stats' }, (got) => {
            const counts = JSON.parse(got.last);
            const fits = Object.entries(step.counts).every(([name, value]) => counts[name] === value);
            if (fits || tries === 0) {
                resolve(counts);
            } else {
                ask(tries - 1);
            }
        });
    };
    ask(1000);
};

async function main() {
    const results = [];
    for (const step of task.steps) {
        const times = step.times || 1;
        const one = () => new Promise((resolve) => kinds[step.kind](step, resolve));
        const made = await Promise.all(Array.from({ length: times }, one));
        results.push(times === 1 ? made[0] : made);
    }
    client.close();
    console.log(JSON.stringify(results));
}

main();
