import { type KeyboardEvent, useRef, useState } from 'react'
import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { type ChosenUse, certainOf, isDecidable } from './bank-matches'
import { ExplainDialog } from './ExplainDialog'
import { OtherTransferDialog } from './OtherTransferDialog'
import { PaymentFacts } from './PaymentFacts'
import { Proposals } from './Proposals'
import { UseDialog } from './UseDialog'
import './BankPaymentList.css'

interface BankPaymentListProps {
  readonly items: readonly BankPayment[]
  readonly more: { readonly onMore: () => void; readonly pending: boolean } | undefined
  readonly canDecide: boolean
  /** The payments are those of several accounts. */
  readonly withAccount: boolean
  /** Receives payments that the user has decided about. */
  readonly onDecided: (payments: readonly BankPayment[]) => void
}

type Opened =
  | { readonly dialog: 'use'; readonly chosen: readonly ChosenUse[] }
  | { readonly dialog: 'other' | 'explain'; readonly payment: BankPayment }

/** Shows payments with the transfers that they can belong to. The arrow keys, j and k move through them, and Space selects a certain one. */
export function BankPaymentList({ items, more, canDecide, withAccount, onDecided }: BankPaymentListProps) {
  const text = useText()
  const [opened, setOpened] = useState<Opened>()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const list = useRef<HTMLUListElement>(null)
  const certain = canDecide ? items.filter((each) => each.status === 'open' && certainOf(each).length > 0) : []
  const chosen = certain.filter(({ paymentId }) => selected.has(paymentId))
  const toggle = (paymentId: string) => {
    const next = new Set(selected)
    if (!next.delete(paymentId)) next.add(paymentId)
    setSelected(next)
  }
  const close = () => {
    // The button that opened the dialog may be gone.
    const paymentId = opened?.dialog === 'use' ? opened.chosen[0]?.payment.paymentId : opened?.payment.paymentId
    setOpened(undefined)
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) rowOf(list.current, paymentId)?.focus()
    })
  }
  const decided = (payments: readonly BankPayment[]) => {
    const ids = new Set(payments.map(({ paymentId }) => paymentId))
    setSelected((before) => new Set([...before].filter((paymentId) => !ids.has(paymentId))))
    onDecided(payments)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLUListElement>) => {
    const { key, target, ctrlKey, metaKey, altKey } = event
    if (!(target instanceof HTMLElement) || ctrlKey || metaKey || altKey || target.closest('[role=dialog]')) return
    const row = target.closest<HTMLElement>('[data-payment]')
    const step = steps[key]
    if (step) {
      const next = step === 'next' ? row?.nextElementSibling : row?.previousElementSibling
      if (next instanceof HTMLElement) next.focus()
    } else if (key === ' ' && target === row) row.querySelector('input')?.click()
    else return
    event.preventDefault()
  }
  return (
    <div className="BankPayments">
      {certain.length > 0 && (
        <label className="BankPayments-all">
          <input
            type="checkbox"
            checked={chosen.length === certain.length}
            onChange={() =>
              setSelected(new Set(chosen.length === certain.length ? [] : certain.map(({ paymentId }) => paymentId)))
            }
          />
          {text('bank.selectCertain', { count: certain.length })}
        </label>
      )}
      <ul ref={list} className="BankPayments-list" onKeyDown={onKeyDown}>
        {items.map((payment) => {
          const { paymentId } = payment
          const isCertain = certain.includes(payment)
          const canUse = canDecide && isDecidable(payment)
          return (
            <li key={paymentId} data-payment={paymentId} tabIndex={-1} className="BankPayments-one">
              {certain.length > 0 && (
                <span className="BankPayments-check">
                  {isCertain && (
                    <input
                      type="checkbox"
                      aria-label={text('bank.selectOne', { name: payment.name ?? text('bank.nameless') })}
                      checked={selected.has(paymentId)}
                      onChange={() => toggle(paymentId)}
                    />
                  )}
                </span>
              )}
              <PaymentFacts payment={payment} withAccount={withAccount} withStatus />
              <div className="BankPayments-decision">
                <Proposals
                  payment={payment}
                  onUse={
                    canUse ? (proposal) => setOpened({ dialog: 'use', chosen: [{ payment, proposal }] }) : undefined
                  }
                />
                {payment.status === 'open' && payment.proposals.length === 0 && (
                  <p className="muted small">{text('bank.noProposals')}</p>
                )}
                {canUse && (
                  <div className="BankPayments-buttons">
                    <Button small onPress={() => setOpened({ dialog: 'other', payment })}>
                      {text('bank.other')}
                    </Button>
                    {payment.uses.length === 0 && (
                      <Button small look="quiet" onPress={() => setOpened({ dialog: 'explain', payment })}>
                        {text(payment.status === 'explained' ? 'bank.explainAgain' : 'bank.explain')}
                      </Button>
                    )}
                  </div>
                )}
              </div>
            </li>
          )
        })}
      </ul>
      <div className="BankPayments-foot">
        <output>{text('common.rowsShown', { count: items.length })}</output>
        {more && (
          <Button small onPress={more.onMore} pending={more.pending}>
            {text('common.loadMore')}
          </Button>
        )}
      </div>
      {chosen.length > 0 && (
        <section className="BankPayments-bar" aria-label={text('payouts.selection')}>
          <output>{text('common.selected', { count: chosen.length })}</output>
          <Button look="quiet" onPress={() => setSelected(new Set())}>
            {text('payouts.clearSelection')}
          </Button>
          <Button look="primary" onPress={() => setOpened({ dialog: 'use', chosen: chosen.flatMap(usesOf) })}>
            {text('bank.useSelected', { count: chosen.length })}
          </Button>
        </section>
      )}
      {opened?.dialog === 'use' && <UseDialog chosen={opened.chosen} onClose={close} onDone={decided} />}
      {opened?.dialog === 'other' && <OtherTransferDialog payment={opened.payment} onClose={close} onDone={decided} />}
      {opened?.dialog === 'explain' && <ExplainDialog payment={opened.payment} onClose={close} onDone={decided} />}
    </div>
  )
}

const steps: { readonly [key: string]: 'next' | 'previous' } = {
  ...({ ArrowDown: 'next', j: 'next', ArrowUp: 'previous', k: 'previous' } as const),
}

const usesOf = (payment: BankPayment): readonly ChosenUse[] =>
  certainOf(payment).map((proposal) => ({ payment, proposal }))

function rowOf(list: HTMLElement | null, paymentId: string | undefined): HTMLElement | null | undefined {
  return paymentId === undefined ? undefined : list?.querySelector(`[data-payment="${CSS.escape(paymentId)}"]`)
}
