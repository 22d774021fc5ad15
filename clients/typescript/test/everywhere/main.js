// The program from a command line: the address and the key come by the environment.

import { program } from "./program.js";

const { THREADKEEP_SERVER: url, THREADKEEP_KEY: key } = globalThis.process.env;
console.log(JSON.stringify(await program({ url, key })));
