"""Five rules over one form, by lionagi's RuleSet.apply_all."""
from lionagi.work import Rule, RuleSet, WorkForm
from measure import rate

five = [
    Rule(rule_id="r1", field="name", check="required"),
    Rule(rule_id="r2", field="name", check="type", params={"type": "str"}),
    Rule(rule_id="r3", field="age", check="range", params={"min": 0, "max": 150}),
    Rule(rule_id="r4", field="email", check="pattern", params={"pattern": r"^[^@\s]+@[^@\s]+\.[a-z]+$"}),
    Rule(rule_id="r5", field="age", check="custom", params={"callable": lambda v: v % 2 == 0, "error": "odd"}),
]
good = WorkForm(values={"name": "Ada", "age": 36, "email": "ada@example.org"})
bad = WorkForm(values={"name": None, "age": 151, "email": "nope"})


def rule_set(rules):
    made = RuleSet()
    for rule in rules:
        made.add(rule)
    return made


def apply_all(rules, form, errors):
    assert len(rules.apply_all(form)) == errors

    def work(_, n):
        apply = rules.apply_all
        for _ in range(n):
            apply(form)
    return work


rate("rules_apply_all_5rules_pass", apply_all(rule_set(five), good, 0), 50_000, "items")
rate("rules_apply_all_5rules_fail4", apply_all(rule_set(five), bad, 4), 50_000, "items")
rate("rules_apply_all_4rules_no_custom_pass", apply_all(rule_set(five[:4]), good, 0), 50_000, "items")
