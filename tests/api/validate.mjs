/* Prints what is wrong with the description of an API in the file argv[2], as JSON; nothing: {}. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/* Modules of this kind are not looked for in NODE_PATH. */
const found = createRequire(process.argv[3] + '/').resolve('@seriousme/openapi-schema-validator');
const { Validator } = await import(pathToFileURL(found));
const description = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { valid, errors } = await new Validator().validate(description);
console.log(JSON.stringify(valid ? {} : { errors }));
