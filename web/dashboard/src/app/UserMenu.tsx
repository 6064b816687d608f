import { useNavigate } from '@tanstack/react-router'
import { Check, ChevronsUpDown } from 'lucide-react'
import { Header, type Key, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import { Button } from '../components/Button'
import { Mark } from '../components/Mark'
import { type Density, densities, type Theme, themes, useAppearance } from './appearance'
import { useSession } from './current-session'
import { type Language, languages, useChosenLanguage } from './language'
import { useSignOut } from './SignOut'
import { useText } from './texts'

export function UserMenu() {
  const text = useText()
  const { user } = useSession()
  const { language, choose: chooseLanguage } = useChosenLanguage()
  const { theme, density, chooseTheme, chooseDensity } = useAppearance()
  const { signOut } = useSignOut()
  const navigate = useNavigate()
  const act = (key: Key) => {
    if (key === 'account') void navigate({ to: '/account' })
    if (key === 'sign-out') signOut()
  }
  return (
    <MenuTrigger>
      <Button look="quiet" className="SideBar-user">
        <Mark name={user.name} person mine />
        <span className="SideBar-name">
          <span className="cut">{user.name}</span>
          <span className="small">{text(`common.role.${user.role}`)}</span>
        </span>
        <ChevronsUpDown />
      </Button>
      <Popover className="Popover">
        <Menu className="Options" onAction={act}>
          <MenuItem id="account" textValue={text('account.title')} className="Option">
            <span>
              {text('account.title')}
              <br />
              <span className="muted small">{`${user.email} · ${text(`common.role.${user.role}`)}`}</span>
            </span>
          </MenuItem>
          <Choice
            title={text('shell.language')}
            chosen={language}
            options={Object.entries(languages)}
            onChoose={(key) => chooseLanguage(key as Language)}
          />
          <Choice
            title={text('shell.theme')}
            chosen={theme}
            options={themes.map((each) => [each, text(`shell.theme.${each}`)])}
            onChoose={(key) => chooseTheme(key as Theme)}
          />
          <Choice
            title={text('shell.density')}
            chosen={density}
            options={densities.map((each) => [each, text(`shell.density.${each}`)])}
            onChoose={(key) => chooseDensity(key as Density)}
          />
          <MenuItem id="sign-out" className="Option">
            {text('shell.signOut')}
          </MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

interface ChoiceProps {
  readonly title: string
  readonly chosen: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChoose: (key: string) => void
}

function Choice({ title, chosen, options, onChoose }: ChoiceProps) {
  return (
    <MenuSection
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[chosen]}
      onSelectionChange={(keys) => {
        const [key] = keys === 'all' ? [] : [...keys]
        if (key !== undefined) onChoose(String(key))
      }}
    >
      <Header className="Options-title">{title}</Header>
      {options.map(([key, label]) => (
        <MenuItem key={key} id={key} className="Option">
          {label}
          <Check className="Option-check icon-14" />
        </MenuItem>
      ))}
    </MenuSection>
  )
}
