import { usePaymentMethods } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import type { FilterField } from '../../components/Filters'
import type { Facet } from './list-search'

const statuses = ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed'] as const

export function useFilterFields(offered: readonly Facet[]): readonly FilterField[] {
  const text = useText()
  const paymentMethods = usePaymentMethods()
  const fields: { readonly [facet in Facet]: readonly FilterField[] } = {
    text: [
      {
        type: 'text',
        name: 'text',
        label: text('shell.search'),
        description: text('transfers.filter.textHelp'),
      },
    ],
    status: [
      {
        type: 'select',
        name: 'status',
        label: text('fields.status'),
        options: statuses.map((status) => ({ value: status, label: text(`common.status.${status}`) })),
      },
    ],
    attention: [
      {
        type: 'select',
        name: 'attention',
        label: text('transfers.filter.attention'),
        options: [{ value: 'open', label: text('transfer.attention') }],
      },
    ],
    method: [
      {
        type: 'select',
        name: 'method',
        label: text('fields.paymentMethod'),
        options: paymentMethods.map(({ code, name }) => ({ value: String(code), label: name })),
      },
    ],
    amount: [
      { type: 'amount', name: 'minAmount', label: text('transfers.filter.minAmount') },
      { type: 'amount', name: 'maxAmount', label: text('transfers.filter.maxAmount') },
    ],
    dates: [{ type: 'dates', from: 'from', to: 'to' }],
  }
  return (['text', 'status', 'attention', 'method', 'amount', 'dates'] as const)
    .filter((facet) => offered.includes(facet))
    .flatMap((facet) => fields[facet])
}
