#!/usr/bin/env node
// Starts the binary from the package of this platform, which npm installs as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");

const platform = `@threadkeep/${process.platform}-${process.arch}`;
const { optionalDependencies, version } = require("./package.json");

function binary() {
  if (!(platform in optionalDependencies)) {
    console.error(`threadkeep: there is no build for ${process.platform} on ${process.arch}`);
    process.exit(1);
  }
  try {
    return require.resolve(`${platform}/bin/threadkeep`);
  } catch {
    // Lockfiles made on another platform, and --omit=optional, leave it out.
    console.error(`threadkeep: the package ${platform} is missing. Run: npm install ${platform}@${version}`);
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both processes; a second one would end the server at once.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`threadkeep: cannot start the binary: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  if (signal === null) return process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
