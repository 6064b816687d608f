import { getRouteApi } from '@tanstack/react-router'
import { changeSearch } from './list-search'
import { TransferList } from './TransferList'

const deposits = getRouteApi('/pages/deposits')
const withdrawals = getRouteApi('/pages/withdrawals')

export function DepositsPage() {
  const navigate = deposits.useNavigate()
  return (
    <TransferList
      kind="deposit"
      search={deposits.useSearch()}
      onSearch={(changes) =>
        void navigate({ search: (previous) => ({ ...previous, ...changeSearch(previous, changes) }) })
      }
    />
  )
}

export function WithdrawalsPage() {
  const navigate = withdrawals.useNavigate()
  return (
    <TransferList
      kind="withdrawal"
      search={withdrawals.useSearch()}
      onSearch={(changes) =>
        void navigate({ search: (previous) => ({ ...previous, ...changeSearch(previous, changes) }) })
      }
    />
  )
}
