use super::*;
use crate::model::Kernel;
use crate::rules::testing::{amdgpu, inspection, kernel, shipped};

#[test]
fn the_poorer_image_is_named() {
    let named = |name: &str| Kernel { name: name.to_owned(), ..kernel(&[]) };
    let rich = amdgpu(vec![named("a"), named("b")]);
    let mut poor = amdgpu(vec![named("b")]);
    poor.path = "poor".to_owned();
    let mut other = amdgpu(vec![named("c")]);
    other.group = "elsewhere".to_owned();
    assert_eq!(shipped(&inspection(vec![rich.clone(), rich.clone(), other.clone()]), RULE.code), []);
    let found = shipped(&inspection(vec![rich, poor, other]), RULE.code);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_str(), &*found[0].message), ("poor", "lacks 1 of 2 kernels of its bundle: a"));
}
