import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { parseConnectionUrl } from '../src/event-store/eventstoredb/eventstoredb-url.js'
import { environmentSchema, readConfiguration } from '../src/operations/configuration/configuration.js'

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
  readonly secrets?: readonly (string | { readonly source: string })[]
  readonly pids_limit?: number
}

interface Compose {
  readonly services: { readonly [name: string]: Service }
  readonly networks: {
    readonly [name: string]: { readonly internal?: boolean; readonly ipam: { config: { subnet: string }[] } }
  }
  readonly volumes: { readonly [name: string]: null }
  readonly secrets: { readonly [name: string]: { readonly file: string } }
}

const text = readFileSync('docker-compose.yml', 'utf8')
const { services, networks, volumes, secrets } = parse(text, { merge: true }) as Compose
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

/** What the image's environment says to transferd. */
const imageDefaults = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV)? +([A-Z_]+)=(\S+)/gm)].flatMap(([, name = '', value = '']) =>
    name === 'NODE_ENV' ? [] : [[name, value]],
  ),
)

/** The variables that are set both themselves and as a file, which transferd refuses. */
function namedTwice(environment: { readonly [name: string]: string | undefined }): string[] {
  return Object.keys(environment).filter((name) => environment[name] && environment[`${name}_FILE`])
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

t.test('the files hold no secret, nor does the environment of a container', async (t) => {
  const secret = /(PASSWORD|SECRET|TOKEN|KEY)$/
  for (const [name, { environment = {} }] of all) {
    for (const [variable, value] of Object.entries(environment)) {
      t.notMatch(variable, secret, `${name}: whoever may inspect a container sees its environment`)
      t.notMatch(value, /:\/\/[^/]*@/, `${name} ${variable}`)
    }
  }
  const given = new Map([...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  for (const [name, need] of variables(text)) {
    t.ok(given.has(name), `.env.example names ${name}`)
    t.notMatch(name, secret)
    if (given.get(name) === '') t.equal(need, 'required', name)
  }
  const unused = [...given.keys()].filter((name) => !variables(text).has(name) && name !== 'COMPOSE_PROFILES')
  t.same(unused, [])
  for (const line of [/^\.env$/m, /^deploy\/secrets\/$/m]) t.match(readFileSync('.gitignore', 'utf8'), line)
  t.match(
    readFileSync('.dockerignore', 'utf8'),
    /^\*\n(!(?!\.env|data)\S+\n)+$/,
    'only what is named gets into the image',
  )
})

const withoutOpenssl = spawnSync('openssl', ['version']).status !== 0 && 'there is no openssl to make certificates with'

/** What deploy/make-secrets makes, with paths as they are on this machine. */
function made(t: Test, profile: string) {
  const directory = t.testdir()
  const { status, stderr } = spawnSync('deploy/make-secrets', [profile, directory], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const file = (name: string) => readFileSync(join(directory, name), 'utf8')
  const url = (name: string) => file(name).trim().replaceAll('/run/secrets', directory)
  return { directory, file, url }
}

t.test(
  'every secret that is mounted is made, and transferd takes what it is given',
  { skip: withoutOpenssl },
  async (t) => {
    t.equal(nodes.length, 2)
    for (const profile of ['single', 'cluster']) {
      await t.test(profile, async (t) => {
        const { directory, file, url } = made(t, profile)
        t.equal(statSync(directory).mode & 0o777, 0o700)
        for (const [name, { file }] of Object.entries(secrets)) {
          t.equal(file, `./deploy/secrets/${name}`)
          t.ok(statSync(join(directory, name)).size > 0, name)
        }
        for (const [name, { secrets: mounted = [] }] of all)
          for (const one of mounted) t.ok((typeof one === 'string' ? one : one.source) in secrets, `${name} ${one}`)
        for (const [name, { environment = {} }] of nodes) {
          const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'))
          t.same(
            files.map(([variable, path]) => [variable, path]),
            [
              ['EVENT_STORE_URL_FILE', '/run/secrets/event-store.url'],
              ['READ_MODEL_URL_FILE', '/run/secrets/read-model.url'],
              ['TRANSFERD_MASTER_KEY_FILE', '/run/secrets/master.key'],
            ],
            name,
          )
          for (const variable of Object.keys(environment))
            t.ok(variable.replace(/_FILE$/, '') in environmentSchema.properties, `${name} ${variable}`)
          const plain = Object.entries(environment).filter(([variable]) => !variable.endsWith('_FILE'))
          // As transferd gets it in the container: what the image says is there, too.
          t.same(namedTwice({ ...imageDefaults, ...environment }), [], name)
          const configuration = readConfiguration({
            ...imageDefaults,
            ...Object.fromEntries(
              plain.map(([variable, value]) => [variable, filledIn(value, { PUBLIC_URL: 'https://pay.example.com' })]),
            ),
            EVENT_STORE_URL: url('event-store.url'),
            READ_MODEL_URL: url('read-model.url'),
            TRANSFERD_MASTER_KEY_FILE: join(directory, 'master.key'),
          })
          t.match(configuration, {
            sandbox: 'off',
            eventStore: { engine: 'eventstoredb' },
            readModels: { engine: 'mongodb' },
          })
          t.same(configuration.masterKey, {
            from: 'environment',
            keys: [Buffer.from(file('master.key').trim(), 'hex')],
          })
          t.same(configuration.trustedProxies, [addressOf(services.caddy!, 'edge')], 'only the proxy is believed')
        }
        const { endpoints, tls, tlsCaFile } = parseConnectionUrl(url('event-store.url'))
        t.same({ tls, tlsCaFile }, { tls: true, tlsCaFile: join(directory, 'ca.crt') })
        const authority = new X509Certificate(file('ca.crt'))
        const log = new X509Certificate(file('eventstore.crt'))
        for (const { address } of endpoints) t.ok(log.checkHost(address), address)
        const cluster = ['eventstore1', 'eventstore2', 'eventstore3']
        for (const name of cluster) t.ok(log.checkIP(addressOf(services[name]!, 'stores')!), name)
        t.match(url('read-model.url'), /[?&]tls=true&tlsCAFile=/)
        const documents = new X509Certificate(file('mongo.pem'))
        for (const name of ['mongo1', 'mongo2', 'mongo3', 'localhost']) t.ok(documents.checkHost(name), name)
        for (const certificate of [log, documents]) t.ok(certificate.verify(authority.publicKey))
        const before = file('master.key')
        spawnSync('deploy/make-secrets', [profile, directory])
        t.equal(file('master.key'), before, 'made once')
      })
    }
  },
)

t.test(
  'the image has defaults that transferd takes, and keeps in its volume what it is not told to keep elsewhere',
  async (t) => {
    t.same(Object.keys(imageDefaults), ['HOST', 'PORT', 'SANDBOX'])
    t.match(readConfiguration(imageDefaults), { host: '0.0.0.0', port: 3000, sandbox: 'off' })
    const [, workingDirectory = ''] = /^WORKDIR (\S+)$/m.exec(dockerfile.split(/^FROM .*$/m)[2]!) ?? []
    const [, volume] = /^VOLUME (\S+)$/m.exec(dockerfile) ?? []
    for (const name of ['EVENT_STORE_URL', 'READ_MODEL_URL', 'DATA_DIRECTORY'] as const)
      t.equal(
        resolve(workingDirectory, environmentSchema.properties[name].default.replace('embedded:', '')),
        volume,
        name,
      )
  },
)

t.test(
  'each profile has the EventStoreDB that its URL names, and everything that is waited for can become healthy',
  async (t) => {
    for (const profile of ['single', 'cluster']) {
      const there = all.filter(([, { profiles }]) => !profiles || profiles.includes(profile)).map(([name]) => name)
      const [, log = ''] =
        new RegExp(`^  ${profile}\\) log=(\\S+) ;;$`, 'm').exec(readFileSync('deploy/make-secrets', 'utf8')) ?? []
      const hosts = [...log.matchAll(/([a-z0-9]+):2113/g)].map(([, host]) => host)
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
    t.match(readFileSync('src/http/server/observability.ts', 'utf8'), "url: '/health/ready'")
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
