import './GalleryPage.css'
import { Download, EqualNot, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { Status } from '../../../../../src/domain/transfer/status'
import { ApiError, type Outcome } from '../../api/api-error'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { AmountField } from '../../components/AmountField'
import { Badge, Flag, StatusBadge, statusTones, type Tone } from '../../components/Badge'
import { Button, type Look } from '../../components/Button'
import { Card } from '../../components/Card'
import { Checkbox } from '../../components/Checkbox'
import { Confirm } from '../../components/Confirm'
import { CopyableId } from '../../components/Copyable'
import { type Column, DataTable } from '../../components/DataTable'
import { DateField } from '../../components/DateField'
import { Duration } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { Facts } from '../../components/Facts'
import { FileField } from '../../components/FileField'
import { type FilterField, Filters } from '../../components/Filters'
import { Form } from '../../components/Form'
import { Loading } from '../../components/Loaded'
import { Mark } from '../../components/Mark'
import { Page } from '../../components/Page'
import { Problem } from '../../components/Problem'
import { Segments } from '../../components/Segments'
import { Select } from '../../components/Select'
import { Tabs } from '../../components/Tabs'
import { TextField } from '../../components/TextField'
import { Time } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { BarChart } from '../overview/BarChart'

const names = ['Hakan Güneş', 'Jale Aksoy', 'Grace Whitmore']
const statuses = Object.keys(statusTones) as Status[]
const tones: readonly Tone[] = ['good', 'wait', 'person', 'second', 'bad', 'off', 'accent']
const looks: readonly Look[] = ['primary', 'plain', 'quiet', 'bad', 'danger']
const outcomes: readonly Outcome[] = ['refused', 'unknown', 'unreachable']
const account = 'TR330006100519786457841326'
const startMs = Date.parse('2026-11-21T00:00:00.000Z')
const hourMs = 3_600_000

/** Shows every component in its states, for developers. The titles are the names of the components. */
export function GalleryPage() {
  const title = 'Components'
  return (
    <Page title={title}>
      <div className="GalleryPage-columns">
        <Buttons />
        <States />
        <Fields />
        <Values />
        <Choices />
        <Dialogs />
        {outcomes.map((outcome) => (
          <Part key={outcome} name={`Problem, ${outcome}`}>
            <Problem error={new ApiError(outcome, outcome)} reading={outcome === 'unreachable'} />
          </Part>
        ))}
        <Chart />
        <Table />
        <Part name="Loading">
          <Loading />
        </Part>
      </div>
    </Page>
  )
}

function Part({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return <Card title={name}>{children}</Card>
}

function Buttons() {
  const text = useText()
  const save = text('common.save')
  return (
    <Part name="Button">
      {[{}, { small: true }, { isDisabled: true }, { pending: true }].map((state) => (
        <div key={Object.keys(state).join()} className="row">
          {looks.map((look) => (
            <Button key={look} look={look} {...state}>
              {save}
            </Button>
          ))}
        </div>
      ))}
      <div className="row">
        <Button>
          <Download />
          {text('common.downloadCsv')}
        </Button>
        <Button icon look="quiet" aria-label={text('common.close')}>
          <X />
        </Button>
      </div>
    </Part>
  )
}

function States() {
  const text = useText()
  return (
    <Part name="Badge, Flag, Mark">
      <div className="row">
        {statuses.map((status) => (
          <StatusBadge key={status} status={status} />
        ))}
      </div>
      <div className="row">
        {tones.map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </div>
      <div className="row">
        {([undefined, 'person', 'second', 'accent', 'bad'] as const).map((tone) => (
          <Flag key={tone ?? ''} icon={EqualNot} {...(tone && { tone })}>
            {text('transfers.you')}
          </Flag>
        ))}
        {names.map((name) => (
          <Mark key={name} name={name} person mine={name === names[0]} />
        ))}
      </div>
      <p className="notice">{text('transfer.attentionHelp.deposit')}</p>
    </Part>
  )
}

function Fields() {
  const text = useText()
  const fields = { reason: { message: text('common.required') } }
  const error = new ApiError('refused', '', undefined, fields)
  return (
    <Part name="Form">
      <Form onSubmit={() => undefined} error={error} pending={false} submit={text('common.save')}>
        <TextField name="name" label={text('fields.name')} defaultValue={names[0]!} required />
        <TextField name="reason" label={text('fields.reason')} description={text('common.reasonHelp')} multiline />
        <TextField label={text('fields.userId')} defaultValue={account} isDisabled />
        <AmountField name="amount" label={text('fields.amountMinor')} defaultMinor={123_450} />
        <DateField label={text('common.from')} defaultValue="2026-11-21" />
        <FileField name="file" label={text('fields.receiptUrl')} accept="application/pdf" />
        <Checkbox label={text('common.yes')} defaultSelected />
        <Checkbox label={text('common.no')} isDisabled />
      </Form>
    </Part>
  )
}

function Values() {
  const text = useText()
  return (
    <Part name="Facts, Amount, Time, Duration, AccountNumber, CopyableId">
      <Facts
        items={[
          { label: text('fields.amountMinor'), value: <Amount minor={123_456_789} /> },
          { label: text('fields.transactionAmountMinor'), value: <Amount minor={100} tone="differs" /> },
          { label: text('fields.createdAt'), value: <Time at={new Date(Date.now() - hourMs).toISOString()} /> },
          { label: text('fields.updatedAt'), value: <Time at={new Date(startMs).toISOString()} exact /> },
          { label: text('overview.medianTime'), value: <Duration ms={200_000} /> },
          { label: text('fields.accountNumber'), value: <AccountNumber account={account} /> },
          {
            label: text('fields.trackingId'),
            value: <CopyableId value={account} label={text('fields.trackingId')} />,
          },
        ]}
      />
    </Part>
  )
}

function Choices() {
  const text = useText()
  const [chosen, setChosen] = useState('all')
  const [values, setValues] = useState<Readonly<Record<string, string | undefined>>>({ status: 'Pending' })
  const options = [
    { value: 'all', label: text('common.all') },
    { value: 'none', label: text('common.none') },
  ]
  const fields: readonly FilterField[] = [
    { type: 'text', name: 'text', label: text('shell.search') },
    {
      type: 'select',
      name: 'status',
      label: text('fields.status'),
      options: statuses.map((value) => ({ value, label: text(`common.status.${value}`) })),
    },
    { type: 'amount', name: 'amount', label: text('transfers.filter.minAmount') },
    { type: 'dates', from: 'from', to: 'to' },
  ]
  return (
    <Part name="Segments, Select, Tabs, Filters">
      <Segments label={text('fields.status')} options={options} value={chosen} onChange={setChosen} />
      <Select label={text('fields.status')} options={options} value={chosen} onChange={setChosen} />
      <Tabs
        label={text('fields.status')}
        items={options.map(({ value, label }) => ({ id: value, label, content: label }))}
      />
      <Filters values={values} onChange={setValues} fields={fields} />
    </Part>
  )
}

function Dialogs() {
  const text = useText()
  const [isOpen, setOpen] = useState(false)
  return (
    <Part name="Confirm, Toasts, Empty">
      <div className="row">
        <Button onPress={() => setOpen(true)}>{text('common.close')}</Button>
        <Button onPress={() => notify(text('common.copied', { label: text('fields.trackingId') }))}>
          {text('common.save')}
        </Button>
        <Button onPress={() => notify(text('common.copyFailed'), 'bad')}>{text('common.save')}</Button>
      </div>
      <Confirm
        title={text('common.close')}
        open={isOpen}
        onClose={() => setOpen(false)}
        onConfirm={() => setOpen(false)}
        confirm={text('common.close')}
        danger
      >
        <p>{text('common.reasonHelp')}</p>
      </Confirm>
      <Empty title={text('transfers.noneFound')}>
        <p>{text('transfers.noneFoundHelp')}</p>
        <Button>{text('transfers.showAll')}</Button>
      </Empty>
    </Part>
  )
}

function Chart() {
  const text = useText()
  const bars = Array.from({ length: 24 }, (_, hour) => ({
    startMs: startMs + hour * hourMs,
    requested: hour > 18 ? undefined : 40 - (hour - 12) ** 2 / 5,
    done: hour > 18 ? undefined : 34 - (hour - 12) ** 2 / 5,
    before: 42 - (hour - 14) ** 2 / 6,
    isRunning: hour === 18,
  }))
  const format = (value: number) => String(Math.round(value))
  const hourOf = (ms: number) => new Date(ms).toISOString().slice(11, 16)
  return (
    <Part name="BarChart">
      <BarChart
        label={text('overview.overTime.deposit')}
        unit={text('overview.unit.count.hour')}
        bars={bars}
        formatAxis={format}
        formatValue={format}
        formatTick={hourOf}
        formatBucket={hourOf}
        beforeLabel={text('overview.before.yesterday')}
      />
    </Part>
  )
}

interface Row {
  readonly name: string
  readonly status: Status
  readonly minor: number
}

const rows: readonly Row[] = statuses.map((status, index) => ({
  name: names[index % names.length]!,
  status,
  minor: 73_00 * 10 ** index,
}))

function Table() {
  const text = useText()
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set(['Completed']))
  const [sort, setSort] = useState('up')
  const columns: readonly Column<Row>[] = [
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      card: 'title',
      sort: { up: 'up', down: 'down' },
      cell: ({ minor }) => <Amount minor={minor} plain />,
    },
    {
      id: 'status',
      header: text('fields.status'),
      card: 'status',
      cell: ({ status }) => <StatusBadge status={status} />,
    },
    { id: 'name', header: text('fields.name'), card: 'name', cell: ({ name }) => name },
  ]
  return (
    <div className="GalleryPage-whole">
      <Part name="DataTable">
        <DataTable
          label={text('transfers.deposits')}
          columns={columns}
          rows={rows}
          rowId={({ status }) => status}
          onOpen={() => undefined}
          selection={{ ids, onChange: setIds }}
          sort={sort}
          onSort={setSort}
          more={{ onMore: () => undefined, pending: false }}
          columnsKey="gallery"
          empty={<Empty title={text('transfers.noneFound')} />}
        />
      </Part>
    </div>
  )
}
