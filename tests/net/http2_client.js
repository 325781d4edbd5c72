/* A foreign client of HTTP/2, that of node: makes requests on one connection to the server of the task
 * in argv[2], and prints what became of them as JSON. */
'use strict';
const fs = require('fs');
const http2 = require('http2');

const task = JSON.parse(process.argv[2]);
const session = http2.connect(task.target, { ca: fs.readFileSync(task.ca) });
let goaway = false;
session.on('goaway', () => {
    goaway = true;
});

/* [status, bytes of the body, error] */
function ask(headers, body) {
    return new Promise((resolve) => {
        const request = session.request(headers, { endStream: body === undefined });
        let status = 0, bytes = 0, error = null;
        request.on('response', (got) => {
            status = got[':status'];
        });
        request.on('data', (piece) => {
            bytes += piece.length;
        });
        request.on('error', (err) => {
            error = err.message.replace('Stream closed with error code ', '');
        });
        request.on('close', () => resolve([status, bytes, error]));
        if (body !== undefined) {
            request.end(body);
        }
    });
}

/* Leaves when the first piece is there. */
function cancel() {
    return new Promise((resolve) => {
        const request = session.request({ ':path': '/stays' });
        request.on('data', () => request.close(http2.constants.NGHTTP2_CANCEL));
        request.on('close', () => resolve(true));
    });
}

async function main() {
    const many = (count, one) => Promise.all(Array.from({ length: count }, one));
    const gets = await many(80, () => ask({ ':path': '/echo' }));
    const posts = await many(10, () => ask({ ':path': '/echo', ':method': 'POST' },
        Buffer.alloc(300000)));
    const pieces = await ask({ ':path': '/pieces?2000000' });
    const head = await ask({ ':path': '/bytes?1000', ':method': 'HEAD' });
    const canceled = await cancel();
    const broken = await ask({ ':path': '/broken' });
    console.log(JSON.stringify({
        gets: gets.map((one) => one[0]),
        /* The head of the request is said back before its body. */
        posts: posts.map((one) => [one[0], one[1] - one[1] % 1000]),
        pieces: pieces.slice(0, 2),
        head: head.slice(0, 2),
        canceled,
        broken: broken[2],
        goaway,
    }));
    session.close();
}

main();
