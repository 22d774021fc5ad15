// The real program, and a proxy that cuts connections.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { Threadkeep, type Settings } from "../src/index.js";

/** A server of its own, on a folder of its own. */
export class Server {
  private child: ChildProcess | undefined;
  url = "";
  key = "";

  private constructor(
    private readonly program: string,
    private readonly folder: string,
  ) {}

  /** Starts it. `definitions` are files of its folder of definitions, by their paths. */
  static async start(definitions: Record<string, string> = {}): Promise<Server> {
    const program = process.env["THREADKEEP_BINARY"];
    if (!program) throw new Error("THREADKEEP_BINARY names the program to test");
    const server = new Server(program, mkdtempSync(join(tmpdir(), "threadkeep-ts-")));
    for (const [path, text] of Object.entries(definitions)) {
      const file = join(server.folder, "definitions", path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    await server.run("127.0.0.1:0");
    return server;
  }

  private async run(listen: string): Promise<void> {
    const env = { PATH: process.env["PATH"], HOME: this.folder };
    const child = spawn(this.program, ["serve", "--data", this.folder, "--listen", listen, "--json"], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.child = child;
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", resolve);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const ready = JSON.parse(line) as { url: string; apiKey: string };
    this.url = ready.url;
    // The local key is made anew at each start; one that was created stays.
    this.key ||= (await this.client({ key: ready.apiKey }).keys.create({ account: "test", scope: "admin" })).key;
  }

  /** A client that reads where the server is from its data folder. */
  found(): Threadkeep {
    const before = { ...process.env };
    process.env["THREADKEEP_DATA"] = this.folder;
    delete process.env["THREADKEEP_SERVER"];
    delete process.env["THREADKEEP_KEY"];
    try {
      return new Threadkeep();
    } finally {
      process.env = before;
    }
  }

  client(settings: Settings = {}): Threadkeep {
    return new Threadkeep({ url: this.url, key: this.key, ...settings });
  }

  /** Ends it as a power cut would, and starts it again at the same address. */
  async crash(): Promise<void> {
    await this.end("SIGKILL");
    await this.run(this.url.replace("http://", ""));
  }

  private end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null) return Promise.resolve();
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    return gone;
  }

  async stop(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Passes bytes on, and cuts all connections when it is told to. */
export class Proxy {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: NetServer) {}

  static async to(url: string): Promise<Proxy> {
    const target = new URL(url);
    const server = createServer();
    const proxy = new Proxy(server);
    server.on("connection", (near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [near, far]) {
        proxy.sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => proxy.sockets.delete(socket));
      }
      near.pipe(far);
      far.pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.server.close();
    this.cut();
  }
}
