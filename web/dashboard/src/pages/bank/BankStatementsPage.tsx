import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import type { BankAccountsResponse, BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { usePages } from '../../api/use-pages'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { shortAccount } from '../../components/account-number'
import { Button } from '../../components/Button'
import { Empty } from '../../components/Empty'
import { Filters } from '../../components/Filters'
import { Loaded } from '../../components/Loaded'
import { dayOf, startOf } from '../../components/local-days'
import { Page } from '../../components/Page'
import { Segments } from '../../components/Segments'
import { notify } from '../../components/Toasts'
import { BankFilePanel } from './BankFilePanel'
import { BankPaymentList } from './BankPaymentList'
import { isStillOpen } from './bank-matches'
import type { BankSearch } from './bank-statements-route'
import { withKnown } from './known-payments'
import { RecordedStatements } from './RecordedStatements'
import { useBankFile } from './use-bank-file'
import { useKnownPayments } from './use-known-payments'
import './BankStatementsPage.css'

const route = getRouteApi('/pages/bank-statements')

export function BankStatementsPage() {
  const text = useText()
  const canDecide = usePermission('transfers:settle')
  const payments = useKnownPayments()
  const file = useBankFile((response) => payments.note(response.payments.filter(isStillOpen)))
  const input = useRef<HTMLInputElement>(null)
  const choose = async (files: FileList | null) => {
    const [first] = files ?? []
    if (!first || file.pending) return
    if (files?.length !== 1) return notify(text('bank.oneFile'), 'bad')
    const content = await first.arrayBuffer().catch(() => undefined)
    if (!content) return notify(text('bank.notAFile'), 'bad')
    file.preview({ name: first.name, content: new Blob([content], { type: 'application/octet-stream' }) })
  }
  const isDropping = useDrop(canDecide, (files) => void choose(files))
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    file.close()
    button.current?.focus()
  }
  const isDone = file.sent?.mode === 'apply'
  return (
    <Page
      title={text('bank.title')}
      actions={
        canDecide && (
          <>
            <input
              ref={input}
              type="file"
              hidden
              tabIndex={-1}
              onChange={({ currentTarget }) => {
                void choose(currentTarget.files)
                // The same file can be chosen again after a problem.
                currentTarget.value = ''
              }}
            />
            <Button ref={button} look="primary" pending={file.pending} onPress={() => input.current?.click()}>
              <Upload />
              {text('bank.choose')}
            </Button>
          </>
        )
      }
    >
      {isDropping && (
        <div className="BankDrop">
          <p>
            <Upload />
            {text('bank.drop')}
          </p>
        </div>
      )}
      <BankFilePanel state={file} onClose={close} />
      {(!file.sending || isDone) && (
        <Recorded
          canDecide={canDecide}
          payments={payments}
          imported={file.sent?.response.statements.map(({ accountId }) => accountId) ?? []}
        />
      )}
    </Page>
  )
}

/** Returns whether a file is dragged over the page, which accepts it anywhere. */
function useDrop(isOn: boolean, onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false)
  const drop = useEffectEvent(onFiles)
  useEffect(() => {
    if (!isOn) return
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true
    const handlers = {
      dragover: (event: DragEvent) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        setOver(true)
      },
      // Leaving the window has no related element.
      dragleave: (event: DragEvent) => event.relatedTarget === null && setOver(false),
      drop: (event: DragEvent) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        setOver(false)
        if (event.dataTransfer) drop(event.dataTransfer.files)
      },
    }
    const listening = Object.entries(handlers) as [keyof typeof handlers, (event: DragEvent) => void][]
    for (const [name, handler] of listening) document.addEventListener(name, handler)
    return () => {
      for (const [name, handler] of listening) document.removeEventListener(name, handler)
    }
  }, [isOn])
  return isOver
}

interface RecordedProps {
  readonly canDecide: boolean
  readonly payments: PaymentsState
  /** The accounts of the file that was just imported, which lists may not show yet. */
  readonly imported: readonly string[]
}

/** Shows the recorded payments, or the recorded statements of an account. */
function Recorded({ canDecide, payments, imported }: RecordedProps) {
  const text = useText()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const accounts = useQuery({
    queryKey: ['bank-accounts'],
    queryFn: ({ signal }) => api.get<BankAccountsResponse>('/bank/accounts', {}, signal),
  })
  const change = (changes: BankSearch) => void navigate({ search: (previous) => ({ ...previous, ...changes }) })
  const show = search.show === 'all' || search.show === 'statements' ? search.show : 'open'
  return (
    <Loaded query={accounts}>
      {({ items }) => {
        const accountIds = [...new Set([...items.map(({ accountId }) => accountId), ...imported])].sort()
        return accountIds.length === 0 ? (
          <Empty title={text('bank.none')}>
            <p>{text(canDecide ? 'bank.noneHelp' : 'bank.noneHelpReader')}</p>
          </Empty>
        ) : search.payment !== undefined ? (
          <OnePayment
            paymentId={search.payment}
            canDecide={canDecide}
            payments={payments}
            onShowAll={() => change({ payment: undefined })}
          />
        ) : (
          <>
            <div className="BankStatements-filters">
              <Segments
                label={text('bank.show')}
                options={(['open', 'all', 'statements'] as const).map((value) => ({
                  value,
                  label: text(`bank.show.${value}`),
                }))}
                value={show}
                onChange={(value) => change({ show: value === 'open' ? undefined : value })}
              />
              <Filters
                values={shownDays(search)}
                onChange={(values) => change(searchedDays(values))}
                fields={[
                  {
                    type: 'select',
                    name: 'account',
                    label: text('bank.account'),
                    options: accountIds.map((value) => ({ value, label: shortAccount(value) })),
                  },
                  ...(show === 'statements' ? [] : [{ type: 'dates', from: 'from', to: 'to' } as const]),
                ]}
              />
            </div>
            {show === 'statements' ? (
              <RecordedStatements accountId={search.account ?? accountIds[0]!} />
            ) : (
              <Payments
                withAccount={accountIds.length > 1 && search.account === undefined}
                key={JSON.stringify(search)}
                search={{ ...search, show }}
                canDecide={canDecide}
                payments={payments}
              />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

/** Filters use times in the viewer's zone, and the end is exclusive. The bank's days have no zone. */
function shownDays({ account, from, to }: BankSearch) {
  return {
    account,
    from: from === undefined ? undefined : startOf(from),
    to: to === undefined ? undefined : startOf(to, 1),
  }
}

function searchedDays({ account, from, to }: Readonly<Record<string, string | undefined>>): BankSearch {
  return {
    account,
    from: from === undefined ? undefined : dayOf(new Date(from)),
    to: to === undefined ? undefined : dayOf(new Date(Date.parse(to) - 1)),
  }
}

const pageSize = 50

interface PaymentsProps {
  readonly search: BankSearch & { readonly show: 'open' | 'all' }
  readonly canDecide: boolean
  readonly withAccount: boolean
  readonly payments: PaymentsState
}
type PaymentsState = ReturnType<typeof useKnownPayments>

function Payments({ search, canDecide, withAccount, payments: { known, note } }: PaymentsProps) {
  const { show, account, from, to } = search
  const text = useText()
  const question = { show, account, from, to, limit: pageSize }
  const { items, query, more } = usePages<BankPayment>(['bank-payments', question], '/bank/payments', question)
  const [limit, setLimit] = useState(pageSize)
  const all = withKnown({ items, fetchedMs: query.dataUpdatedAt }, known, { account, from, to })
  const showMore = () => {
    setLimit(limit + pageSize)
    if (all.length < limit + pageSize) more?.onMore()
  }
  const hasMore = all.length > limit || more !== undefined
  return (
    <Loaded query={query}>
      {() =>
        all.length === 0 && !more ? (
          <Empty title={text(show === 'open' ? 'bank.nothingOpen' : 'bank.nothingFound')} />
        ) : (
          <BankPaymentList
            items={all.slice(0, limit)}
            more={hasMore ? { onMore: showMore, pending: more?.pending ?? false } : undefined}
            canDecide={canDecide}
            withAccount={withAccount}
            onDecided={note}
          />
        )
      }
    </Loaded>
  )
}

interface OnePaymentProps {
  readonly paymentId: string
  readonly canDecide: boolean
  readonly payments: PaymentsState
  readonly onShowAll: () => void
}

function OnePayment({ paymentId, canDecide, payments: { known, note }, onShowAll }: OnePaymentProps) {
  const text = useText()
  const query = useQuery({
    queryKey: ['bank-payment', paymentId],
    queryFn: ({ signal }) => api.get<BankPayment>(`/bank/payments/${encodeURIComponent(paymentId)}`, {}, signal),
  })
  return (
    <>
      <Loaded query={query}>
        {(payment) => (
          <BankPaymentList
            items={[known.get(paymentId)?.payment ?? payment]}
            more={undefined}
            canDecide={canDecide}
            withAccount
            onDecided={note}
          />
        )}
      </Loaded>
      <div>
        <Button onPress={onShowAll}>{text('bank.showAll')}</Button>
      </div>
    </>
  )
}
