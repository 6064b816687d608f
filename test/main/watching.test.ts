import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parser as promql } from '@prometheus-io/lezer-promql'
import t, { type Test } from 'tap'
import { parse as parseYaml } from 'yaml'
import { logFields, onlyListed, shownError } from '../../src/operations/logging/logger.js'
import { securityEvents } from '../../src/security/security-log.js'
import { startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { type CollectedSpan, startCollector } from '../support/collector.js'
import { loadedFiles } from '../support/loaded-files.js'
import { createBody } from '../support/merchant-requests.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { until } from '../support/until.js'

/** Runs the main operations of one service and returns its traces, metrics and log lines. */

interface Issued {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
  readonly webhookSecret: string
}

const directory = temporaryDirectory(t)
const collector = await startCollector(t)
const endpoint = await startReceiver(t)
const shop = ['--name', 'Canary Shop', '--callback-url', endpoint.url, '--sandbox', '--callback-on-create']
const merchant = await cliJson<Issued>(directory, 'merchants', 'create', ...shop)
const service = await startServiceProcess(t, {
  directory,
  environment: {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=rehearsal',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    LOG_LEVEL: 'debug',
  },
})

const canary = { userId: 'canary-user-8841', name: 'Canaria Bird', username: 'canarybird' }
const amountText = '1234.56'
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerSpan = '00f067aa0ba902b7'

async function create(headers: { readonly [name: string]: string }, key = merchant.webApiKey) {
  const referenceId = randomUUID()
  const response = await fetch(`${service.baseUrl}/Transaction/CreateDeposit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', WebApiKey: key, ...headers },
    body: createBody('hosted', merchant.secretKey, { ...canary, referenceId }, amountText),
  })
  const requestId = response.headers.get('x-request-id')!
  return {
    status: response.status,
    requestId,
    referenceId,
    trackingId: ((await response.json()) as { trackingId: string }).trackingId,
  }
}

const traced = await create({ traceparent: `00-${traceId}-${callerSpan}-01` })
const unsampled = await create({ traceparent: `00-${'ab'.repeat(16)}-${callerSpan}-00` })
const own = await create({ traceparent: 'nonsense' })
const refused = await create({}, `${merchant.webApiKey}x`)
await until(() => endpoint.received.length === 3)
const ofTrace = (id: string) => collector.spans.filter((span) => span.traceId === id)
for (const projection of ['transfers', 'callbacks'])
  await until(() => ofTrace(traceId).some(({ name }) => name === `projection ${projection}`))
const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
const health = await fetch(`${service.baseUrl}/health/ready`)
const status = await service.end('SIGTERM')

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name)

t.test('one create produces one trace from the caller to the delivered callback, across threads', async (t) => {
  t.equal(traced.status, 200)
  t.equal(status, 0)
  const spans = ofTrace(traceId)
  for (const name of [
    'POST /Transaction/CreateDeposit',
    'command CreateDeposit',
    'append',
    'projection transfers',
    'callback record',
    'command Record',
    'callback deliver',
    'command ReportAttempt',
    'projection callbacks',
  ])
    t.ok(named(spans, name).length > 0, name)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  for (const { name, parentSpanId = '' } of spans)
    t.ok(parentSpanId === callerSpan ? name.startsWith('POST ') : ids.has(parentSpanId), `${name} has a parent span`)
  t.equal(named(spans, 'POST /Transaction/CreateDeposit').length, 1)
  t.match(named(spans, 'callback deliver'), [
    {
      failed: false,
      attributes: {
        'transferd.correlation_id': traced.requestId,
        'transferd.tracking_id': traced.trackingId,
        'transferd.callback.outcome': 'delivered',
        'transferd.callback.attempt': 1,
      },
    },
  ])
  t.match(named(spans, 'command CreateDeposit')[0]?.attributes, { 'transferd.correlation_id': traced.requestId })
  t.match(named(spans, 'POST /Transaction/CreateDeposit')[0]?.attributes, {
    ...{ 'http.route': '/Transaction/CreateDeposit', 'http.response.status_code': 200 },
    ...{ 'transferd.merchant_id': merchant.id, 'transferd.correlation_id': traced.requestId },
  })
  t.match(collector.resources[0], { 'service.name': 'transferd', 'deployment.environment.name': 'rehearsal' })
})

t.test('does not trace an unsampled caller, and starts a trace for a caller without one', async (t) => {
  t.equal(unsampled.status, 200)
  t.same(ofTrace('ab'.repeat(16)), [])
  const [root] = named(collector.spans, 'POST /Transaction/CreateDeposit').filter(
    ({ attributes }) => attributes['transferd.correlation_id'] === own.requestId,
  )
  t.equal(root?.parentSpanId, undefined)
  t.equal(named(ofTrace(root?.traceId ?? ''), 'callback deliver').length, 1)
  const unsampledSpans = collector.spans.filter(
    ({ attributes }) => attributes['transferd.tracking_id'] === unsampled.trackingId,
  )
  t.same(unsampledSpans, [], 'spans that it causes are not traced either')
  t.equal(refused.status, 401)
  t.equal(health.status, 200)
  t.notOk(
    collector.spans.some(({ name }) => name.includes('/health/')),
    'probes are not traced',
  )
})

/** The allowed attributes of spans. docs/operating/monitoring.md has the same names. */
const attributeNames = new Set([
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'transferd.correlation_id',
  'transferd.merchant_id',
  'transferd.tracking_id',
  'transferd.stream_kind',
  'transferd.events',
  'transferd.event_type',
  'transferd.projection',
  'transferd.refusal',
  'transferd.callback.attempt',
  'transferd.callback.outcome',
  'error.type',
])

const secrets = [merchant.webApiKey, merchant.secretKey, merchant.webhookSecret, ...Object.values(canary)]
const amounts = [amountText, amountText.replace('.', '')]

t.test('no span contains a name, an account, an amount or a secret', async (t) => {
  t.ok(collector.text.length > 10_000)
  for (const { name, attributes } of collector.spans)
    t.same(
      Object.keys(attributes).filter((attribute) => !attributeNames.has(attribute)),
      [],
      name,
    )
  for (const secret of [...secrets, ...amounts, traced.referenceId, 'Canary Shop'])
    t.notOk(collector.text.includes(secret), secret)
})

t.test('events of a traced create contain the trace and the correlation id, and other events no trace', async (t) => {
  type Shown = { readonly type: string; readonly metadata: { readonly [name: string]: unknown } }
  const show = (trackingId: string) => cliJson<readonly Shown[]>(directory, 'events', 'show', trackingId)
  const [created] = await show(traced.trackingId)
  t.match(created?.metadata, { $correlationId: traced.requestId, $traceId: traceId, $spanId: /^[0-9a-f]{16}$/ })
  const [plain] = await show(unsampled.trackingId)
  const names = ['$causationId', '$correlationId', '$reserves', 'actor', 'mac', 'schemaVersion']
  t.same(Object.keys(plain?.metadata ?? {}).sort(), names)
})

t.test('does not load tracing if it is disabled', async (t) => {
  const service = fileURLToPath(new URL('../../src/main/service.js', import.meta.url))
  const loaded = await loadedFiles(
    directory,
    '--input-type=module',
    '--eval',
    `await import(${JSON.stringify(service)})`,
  )
  t.ok(loaded.length > 200, `${loaded.length} files`)
  t.same(
    loaded.filter((file) => /@opentelemetry|watching\/opentelemetry/.test(file)),
    [],
  )
  const importers = sources.filter((file) =>
    /^import .*watching\/opentelemetry/m.test(readFileSync(`src/${file}`, 'utf8')),
  )
  t.same(importers, [], 'the background thread does not load it either: only a dynamic import does')
})

// ── Metrics ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const exposed = new Set([...metrics.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name))
const page = readFileSync('docs/reference/metrics.md', 'utf8')
const documented = new Map(
  [...page.matchAll(/^\| `(transferd_\w+)` \| \w+ \|([^|]*)\|/gm)].map(([, name = '', labels = '']) => [
    name,
    [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
  ]),
)

/** Removes the suffix that a histogram adds to its name. */
function metricOf(series: string): string {
  return exposed.has(series) ? series : series.replace(/_(bucket|count|sum)$/, '')
}

t.test('every series has exactly the documented labels', async (t) => {
  const series = [...metrics.matchAll(/^(transferd_\w+)(?:\{(.*)\})? /gm)]
  t.ok(series.length > 50)
  for (const [line, name = '', labels = ''] of series) {
    const found = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
    t.same(found.filter((label) => label !== 'le').sort(), [...(documented.get(metricOf(name)) ?? [])].sort(), line)
  }
})

interface Series {
  readonly metric: string
  readonly labels: readonly string[]
}

/** The labels that Prometheus adds to each series. */
const added = ['job', 'instance', 'le']

interface Range {
  readonly from: number
  readonly to: number
}

/** Returns the series in a PromQL expression. @throws Error if the expression is invalid */
function seriesIn(text: string): readonly Series[] {
  const selectors: (Range & { metric: string; labels: string[] })[] = []
  const aggregates: Range[] = []
  const grouped: { readonly label: string; readonly within: Range | undefined }[] = []
  const isWithin = (inner: Range, outer: Range | undefined) =>
    outer !== undefined && outer.from <= inner.from && inner.to <= outer.to
  promql.parse(text).iterate({
    enter({ name, from, to, type }) {
      const [range, part] = [{ from, to }, text.slice(from, to)]
      if (type.isError) throw new Error(`invalid expression at ${from}: ${text}`)
      if (name === 'AggregateExpr') aggregates.push(range)
      if (name === 'VectorSelector') selectors.push({ ...range, metric: '', labels: [] })
      if (name === 'Identifier') selectors.at(-1)!.metric = part
      if (name !== 'LabelName') return
      const selector = selectors.find((each) => isWithin(range, each))
      if (selector) selector.labels.push(part)
      else grouped.push({ label: part, within: aggregates.findLast((each) => isWithin(range, each)) })
    },
  })
  return selectors.map(({ metric, labels, ...range }) => ({
    metric,
    labels: [...labels, ...grouped.flatMap(({ label, within }) => (isWithin(range, within) ? [label] : []))],
  }))
}

function checkExpression(t: Test, source: string, text: string): void {
  const series = seriesIn(text)
  t.ok(series.length > 0, `${source} uses a series`)
  for (const { metric, labels } of series) {
    if (metric === 'up') continue
    const name = metricOf(metric)
    t.ok(exposed.has(name), `${source}: ${metric} is exposed`)
    const known = [...added, ...(documented.get(name) ?? [])]
    t.same(
      labels.filter((label) => !known.includes(label)),
      [],
      `${source}: labels of ${metric}`,
    )
  }
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

t.test('every alert uses exposed series and links to a runbook', async (t) => {
  const file = parseYaml(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as { groups: { rules: Rule[] }[] }
  const rules = file.groups.flatMap(({ rules }) => rules)
  t.ok(rules.length >= 15)
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length, 'the names are unique')
  const headings = [...readFileSync('docs/operating/runbooks.md', 'utf8').matchAll(/^## (.+)$/gm)]
  const runbooks = headings.map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^a-z -]/g, '')
      .replaceAll(' ', '-'),
  )
  for (const { alert, expr, for: duration, labels, annotations } of rules) {
    checkExpression(t, alert, expr)
    t.match(duration, /^\d+[smh]$/)
    t.match(labels.severity, /^(page|ticket)$/, alert)
    t.match(annotations.summary, /\.$/, `the summary of ${alert} is a sentence`)
    const [path, anchor = ''] = annotations.runbook.split('#')
    t.equal(path, 'docs/operating/runbooks.md')
    t.ok(runbooks.includes(anchor), `${alert}: ${annotations.runbook}`)
  }
})

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

t.test('every panel of the Grafana dashboard uses exposed series', async (t) => {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/transferd.json', 'utf8')) as Dashboard
  t.ok(panels.length >= 15)
  for (const { title, targets } of panels)
    for (const { expr } of targets)
      checkExpression(t, title, expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'x'))
})

t.test('the check of expressions rejects invalid ones', async (t) => {
  t.throws(() => seriesIn('sum(rate(up[5m])'))
  t.same(seriesIn('max by (kind) (a{b="c"}) / d > 1'), [
    { metric: 'a', labels: ['b', 'kind'] },
    { metric: 'd', labels: [] },
  ])
})

// ── Log lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

t.test('log lines contain only listed fields and no customer data', async (t) => {
  const lines = service.log().trimEnd().split('\n')
  t.ok(lines.length >= 5)
  for (const line of lines) {
    const fields = JSON.parse(line) as { readonly [name: string]: unknown }
    t.same(
      Object.keys(fields).filter((name) => !Object.hasOwn(logFields, name) || name === 'unlisted'),
      [],
      line,
    )
  }
  t.match(lines.join(), /security\.key_unknown/)
  for (const secret of [...secrets, ...amounts]) t.notOk(service.log().includes(secret), secret)
})

t.test('logs only the name of an unlisted field, and an error without the properties of a library', async (t) => {
  t.same(onlyListed({ merchantId: 'm', accountNumber: 'TR33' }), { merchantId: 'm', unlisted: 'accountNumber' })
  const error = Object.assign(new Error('refused', { cause: new Error('no route') }), { code: 'E1', body: 'TR33' })
  const shown = shownError(error)
  t.match(shown, { type: 'Error', message: 'refused: no route', code: 'E1' })
  t.same(Object.keys(shown).sort(), ['code', 'message', 'stack', 'type'])
  t.same(shownError('gone'), { type: 'string', message: 'gone' })
})

t.test('the page of log lines contains the list with the same descriptions', async (t) => {
  const rows = [...readFileSync('docs/reference/logs.md', 'utf8').matchAll(/^\| `(\w+)` \| (.+) \|$/gm)]
  t.same(
    rows.map(([, name = '', meaning = '']) => [name, meaning]),
    Object.entries(logFields),
  )
  for (const fields of Object.values(securityEvents))
    for (const field of fields) t.ok(Object.hasOwn(logFields, field), field)
})

t.test('the source uses only listed fields in log lines', async (t) => {
  const calls = sources.flatMap((file) => {
    const text = readFileSync(`src/${file}`, 'utf8')
    return [
      ...text.matchAll(
        /(?:logger|lines)(?:\.|\[[^\]]*\])(?:trace|debug|info|warn|error|fatal|child)?\(\s*\{([^{}]*)\}/g,
      ),
    ]
  })
  t.ok(calls.length > 30)
  for (const [call, inside = ''] of calls)
    for (const part of inside.split(',').filter((each) => each.trim() && !each.includes('...')))
      t.ok(Object.hasOwn(logFields, part.split(':')[0]?.trim() ?? ''), call)
})
