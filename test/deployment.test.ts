import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { parse } from 'yaml'
import { parseConnectionUrl } from '../src/event-store/eventstoredb/connection-url.js'
import { configurationDefaults, readConfiguration } from '../src/runtime/configuration.js'

interface Service {
  readonly image?: string
  readonly build?: string
  readonly profiles?: readonly string[]
  readonly environment?: { readonly [name: string]: string }
  readonly depends_on?: { readonly [service: string]: { readonly condition: string; readonly required?: boolean } }
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly networks?: readonly string[] | { readonly [network: string]: { readonly ipv4_address: string } }
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly restart?: string
  readonly mem_limit?: string
  readonly pids_limit?: number
}

interface Compose {
  readonly services: { readonly [name: string]: Service }
  readonly networks: {
    readonly [name: string]: { readonly internal?: boolean; readonly ipam: { config: { subnet: string }[] } }
  }
  readonly volumes: { readonly [name: string]: null }
}

const text = readFileSync('docker-compose.yml', 'utf8')
const { services, networks, volumes } = parse(text, { merge: true }) as Compose
const dockerfile = readFileSync('Dockerfile', 'utf8')
const example = readFileSync('.env.example', 'utf8')
const all = Object.entries(services)
const nodes = all.filter(([name]) => name.startsWith('transferd'))
const pinned = /^[a-z0-9./-]+:\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/

/** The variables a text takes from .env, and whether compose refuses to start without them. */
function variables(text: string): Map<string, 'required' | 'optional'> {
  const found = [...text.matchAll(/(?<!\$)\$\{([A-Z_]+)(:\?[^}]+|:-[^}]*)?\}/g)]
  return new Map(found.map(([, name = '', rest]) => [name, rest?.startsWith(':?') ? 'required' : 'optional']))
}

/** With the variables filled in, as compose would. */
function filledIn(value: string, values: { readonly [name: string]: string }): string {
  return value.replace(
    /(?<!\$)\$\{([A-Z_]+)(?::[?-]([^}]*))?\}/g,
    (_, name: string, rest: string) => values[name] ?? rest,
  )
}

t.test('every image is pinned to a version, and is one of the same name everywhere', async (t) => {
  for (const [name, { image }] of all) t.match(image, pinned, name)
  const froms = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  t.equal(froms.length, 2, 'one stage to build, one to run')
  t.equal(new Set(froms).size, 1)
  t.match(froms[0], pinned)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  for (const [, { image, build }] of nodes) t.same({ image, build }, { image: `transferd:${version}`, build: '.' })
})

t.test('no container may take all memory or all processes of the machine', async (t) => {
  for (const [name, { mem_limit, pids_limit }] of all)
    t.match({ mem_limit, pids_limit }, { mem_limit: /^\d+[mg]$/, pids_limit: Number }, name)
  t.match(dockerfile, /--memory \d+g --pids-limit \d+/)
})

t.test('the image has a line of Node that is supported for long', async (t) => {
  const major = Number(/^FROM node:(\d+)\./m.exec(dockerfile)?.[1])
  t.ok(major >= 24 && major % 2 === 0, `${major}`)
})

t.test('the files hold no secret, and nothing starts without those it needs', async (t) => {
  const secret = /(PASSWORD|SECRET|TOKEN|KEY|KEYFILE)$/
  for (const [name, { environment = {} }] of all) {
    for (const [variable, value] of Object.entries(environment)) {
      if (secret.test(variable)) t.match(value, /^\$\{[A-Z_]+:\?[^}]+\}$/, `${name} ${variable}`)
      const password = /^[a-z+]+:\/\/[^:/@]*:([^@/]*)@/.exec(value)?.[1]
      if (password !== undefined) t.match(password, /^\$\{[A-Z_]+:\?[^}]+\}$/, `${name} ${variable}`)
    }
  }
  const given = new Map([...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  for (const [name, need] of variables(text)) {
    t.ok(given.has(name), `.env.example names ${name}`)
    if (secret.test(name)) t.same([need, given.get(name)], ['required', ''], name)
  }
  const unused = [...given.keys()].filter((name) => !variables(text).has(name) && name !== 'COMPOSE_PROFILES')
  t.same(unused, [])
  t.match(readFileSync('.gitignore', 'utf8'), /^\.env$/m)
  t.match(
    readFileSync('.dockerignore', 'utf8'),
    /^\*\n(!(?!\.env|data)\S+\n)+$/,
    'only what is named gets into the image',
  )
})

t.test('transferd reads every variable that is set, and takes the values', async (t) => {
  t.equal(nodes.length, 2)
  const values = {
    MONGO_TRANSFERD_PASSWORD: 'c0ffee',
    TRANSFERD_MASTER_KEY: 'ab'.repeat(32),
    PUBLIC_URL: 'https://pay.example.com',
  }
  const urls = [...example.matchAll(/^(?:# )?EVENT_STORE_URL=(.+)$/gm)].map(([, url = '']) => url)
  t.equal(urls.length, 2)
  for (const [name, { environment = {} }] of nodes) {
    for (const variable of Object.keys(environment)) t.ok(variable in configurationDefaults, `${name} ${variable}`)
    for (const EVENT_STORE_URL of urls) {
      const filled = Object.entries(environment).map(([variable, value]) => [
        variable,
        filledIn(value, { ...values, EVENT_STORE_URL }),
      ])
      t.doesNotThrow(() => parseConnectionUrl(EVENT_STORE_URL))
      const { readModels, sandbox, trustedProxies } = readConfiguration(Object.fromEntries(filled))
      t.match(readModels, {
        engine: 'mongodb',
        url: /^mongodb:\/\/transferd:c0ffee@mongo1:27017,mongo2:27017,mongo3:27017\//,
      })
      t.equal(sandbox, 'off')
      t.same(trustedProxies, [addressOf(services.caddy!, 'edge')], 'only the proxy is believed')
    }
  }
  const defaults = [...dockerfile.matchAll(/^(?:ENV)? +([A-Z_]+)=(\S+)/gm)].flatMap(([, name = '', value = '']) =>
    name === 'NODE_ENV' ? [] : [[name, value]],
  )
  t.same(
    defaults.map(([name]) => name),
    ['HOST', 'PORT', 'EVENT_STORE_URL', 'READ_MODEL_URL', 'DATA_DIRECTORY'],
  )
  t.match(readConfiguration(Object.fromEntries(defaults)), { host: '0.0.0.0', port: 3000 })
})

t.test(
  'each profile has the EventStoreDB that its URL names, and everything that is waited for can become healthy',
  async (t) => {
    const profiles = {
      single: /^# EventStoreDB[\s\S]*?^COMPOSE_PROFILES=single\nEVENT_STORE_URL=(.*)$/m,
      cluster: /^# COMPOSE_PROFILES=cluster\n# EVENT_STORE_URL=(.*)$/m,
    }
    for (const [profile, documented] of Object.entries(profiles)) {
      const there = all.filter(([, { profiles }]) => !profiles || profiles.includes(profile)).map(([name]) => name)
      const url = documented.exec(example)?.[1] ?? ''
      const hosts = [...url.matchAll(/([a-z0-9]+):2113/g)].map(([, host]) => host)
      t.same(
        there.filter((name) => name.startsWith('eventstore')),
        hosts,
        profile,
      )
      for (const [name, { depends_on = {} }] of all.filter(([name]) => there.includes(name))) {
        for (const [needed, { condition, required }] of Object.entries(depends_on)) {
          t.ok(there.includes(needed) || required === false, `${profile}: ${name} waits for ${needed}`)
          if (condition !== 'service_healthy') continue
          const { healthcheck, build } = services[needed]!
          t.ok(healthcheck || build, `${needed} says whether it is healthy`)
        }
      }
      for (const name of hosts)
        t.ok(
          nodes.every(([, { depends_on }]) => depends_on?.[name!]),
          `waits for ${name}`,
        )
    }
    const cluster = ['eventstore1', 'eventstore2', 'eventstore3'].map((name) => services[name]!)
    const addresses = cluster.map((service) => addressOf(service, 'stores'))
    for (const [n, { environment }] of cluster.entries()) {
      t.equal(environment?.EVENTSTORE_REPLICATION_IP, addresses[n])
      const others = addresses.filter((address) => address !== addresses[n]).map((address) => `${address}:2113`)
      t.equal(environment?.EVENTSTORE_GOSSIP_SEED, others.join())
    }
  },
)

t.test('only the proxy can be reached from outside, and the stores reach nothing', async (t) => {
  t.same(
    all.filter(([, { ports }]) => ports).map(([name]) => name),
    ['caddy'],
  )
  t.equal(networks.stores?.internal, true)
  for (const [name, service] of all) {
    const joined = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {})
    const expected = name === 'caddy' ? ['edge'] : name.startsWith('transferd') ? ['edge', 'stores'] : ['stores']
    t.same(joined, expected, name)
    for (const network of joined) {
      const subnet = networks[network]!.ipam.config[0]!.subnet.replace(/0\/24$/, '')
      const address = addressOf(service, network)
      if (address) t.ok(address.startsWith(subnet), `${name} ${address}`)
    }
  }
})

t.test('every store keeps its data in a volume of its own, and every mounted file is there', async (t) => {
  const mounted = all.flatMap(([name, { volumes = [] }]) =>
    volumes.map((volume) => ({ name, source: volume.split(':')[0]! })),
  )
  for (const { source, name } of mounted.filter(({ source }) => source.startsWith('.')))
    t.ok(existsSync(source), `${name} ${source}`)
  const named = mounted.map(({ source }) => source).filter((source) => !source.startsWith('.'))
  t.same([...named].sort(), Object.keys(volumes).sort(), 'each is used once')
  for (const [name] of all.filter(([name]) => /^(eventstore\d?|mongo\d)$/.test(name)))
    t.ok(
      mounted.some((mount) => mount.name === name && !mount.source.startsWith('.')),
      name,
    )
})

t.test(
  'the image runs as nobody special, without what only building needs, and says whether it is ready',
  async (t) => {
    const [, run = ''] = dockerfile.split(/^FROM .*$/m).slice(1)
    t.match(run, /^USER node$/m)
    t.notMatch(run, /apt-get|npm/)
    t.match(dockerfile, /npm ci .*--ignore-scripts/)
    t.match(dockerfile, /npm prune --omit=dev/)
    t.match(run, /^HEALTHCHECK[\s\S]*\/health\/ready/m)
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { build: string } }
    const letIn = readFileSync('.dockerignore', 'utf8').split('\n')
    const read = scripts.build.split(/[\s&]+/).filter((word) => existsSync(word) && !word.startsWith('dist/'))
    t.ok(read.length > 0)
    for (const file of read) t.ok(letIn.includes(`!${file.split('/')[0]}`), `the build finds ${file}`)
    const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: { transferd: string } }
    t.ok(run.includes(`"/app/${bin.transferd}"]\nCMD ["serve"]`), 'npm’s own entry')
    const caddy = readFileSync('deploy/Caddyfile', 'utf8')
    for (const [name] of nodes) t.match(caddy, `${name}:3000`)
    t.match(caddy, 'health_uri /health/ready')
    t.match(readFileSync('src/http/routes/observability.ts', 'utf8'), "url: '/health/ready'")
  },
)

t.test('the health check tells a service that is ready from one that is not', async (t) => {
  const [, script = ''] = /CMD \["node", "-e", "(.*)"\]/.exec(dockerfile) ?? []
  let status = 200
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/health/ready' ? status : 404).end(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const exit = async () => {
    const child = spawn(process.execPath, ['-e', script], { env: { PORT: String(port) }, stdio: 'ignore' })
    return (await once(child, 'exit'))[0]
  }
  t.equal(await exit(), 0)
  status = 503
  t.equal(await exit(), 1)
  server.close()
  await once(server, 'close')
  t.equal(await exit(), 1)
})

function addressOf({ networks = [] }: Service, network: string): string | undefined {
  return 'length' in networks
    ? undefined
    : (networks as { [name: string]: { ipv4_address: string } })[network]?.ipv4_address
}
